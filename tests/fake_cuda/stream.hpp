// Streams and events of the fake driver: one worker thread per stream. A stream runs its operations in order, after the
// calls that enqueued them. The legacy default stream of a context waits for the context's blocking streams, and they
// wait for it.
//
// FAKE_CUDA_LAZY=1: an operation runs only once a thread waits for it (or queries it): code that forgets to wait then
// fails every time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "state.hpp"

namespace fake_cuda {

struct Operation;
using OperationPointer = std::shared_ptr<Operation>;

// Finds the context's stream behind a program's handle (0, 1 and 2 are default streams) for work or a query. Errors:
// the handle is not a stream of the context, or the default stream may not be used now (capture.cpp). Use of a
// destroyed stream ends the process; `call`: the driver function called by the program.
Result use_stream(Context* context, void* handle, Stream** stream, const char* call = __builtin_FUNCTION());
Stream* make_stream(Context* context, bool blocking, int priority = 0);
// Number of hardware queues of a device for each priority. The operations of all streams that share a queue run in the
// order in which they were enqueued. 0: every stream has a queue of its own. Set before there are streams.
std::size_t& hardware_queues();

// Enqueues work in a stream; if the work fails, the context's error is sticky. `after`: another operation that the work
// waits for. `captured`: if the stream is captured, the work becomes part of the graph; otherwise it is done at once.
OperationPointer enqueue(Stream* stream, std::function<Result()> work, OperationPointer after = nullptr,
                         bool captured = true);

// With FAKE_CUDA_QUEUE=N, a stream holds N operations. A call that enqueues one more waits for space, and meanwhile
// keeps the lock that most calls of the process need, as drivers do. A Submission exists during each call that
// enqueues; a thread may have several.
class Submission {
 public:
  Submission();
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
};
// Waits until no other thread has a Submission, if the call needs the lock.
void wait_for_submissions(const char* call);

// Wait, and return the context's sticky error.
Result synchronize_stream(Stream* stream);
Result synchronize_context(Context* context);
void stop_streams(Context* context);

// --- captures (capture.cpp) ---
// Returns an error if a captured stream synchronises with the default stream; `spoils`: the capture is then
// invalidated.
Result legacy_stream_is_usable(Context* context, bool spoils);
// Returns an error, and invalidates the capture, if a stream of the context is captured.
Result context_is_not_captured(Context* context);

// Leaves the context in an error state.
void break_context(Context* context, Result result);

}  // namespace fake_cuda

// State of streams, events and captures. All of it is guarded by work_mutex(), which is never held while work runs.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "stream.hpp"

namespace fake_cuda {

// Work that a program captures instead of submitting it to a device.
struct Capture {
  unsigned long long id = 0;
  int mode = 0;  // CUstreamCaptureMode: global, thread-local or relaxed
  std::thread::id thread;
  Stream* origin = nullptr;
  std::set<Stream*> streams;  // streams that take part, including the origin
  std::vector<std::function<Result()>> nodes;
  Result invalid = kSuccess;  // the error that invalidated the capture
};

struct Operation {
  std::function<Result()> work;
  std::vector<OperationPointer> after;
  Context* context = nullptr;
  bool wanted = false;
  bool done = false;
};

struct HardwareQueue {
  int streams = 0;
  OperationPointer last;
};

struct Stream {
  Context* context = nullptr;
  HardwareQueue* hardware = nullptr;  // null: one of its own
  bool blocking = true;
  bool alive = true;
  bool destroyed = false;  // destroyed by the program; any use then ends the process, unlike after the end of the
                           // context
  std::deque<OperationPointer> queue;
  OperationPointer last;
  std::shared_ptr<Capture> capture;  // null: not captured
  std::condition_variable changed;
};

struct Event {
  bool alive = true;
  bool releases_to_system = false;  // makes stores to memory that is not coherent visible
  OperationPointer operation;
  std::shared_ptr<Capture> capture;  // capture in which the event was last recorded
};

std::mutex& work_mutex();
std::set<Stream*>& streams();
std::set<Event*>& events();
std::set<std::shared_ptr<Capture>>& captures();

// Ends the process with a message if the program has destroyed the stream: drivers crash then. Called under the mutex.
void expect_not_destroyed(const Stream* stream, const char* call = __builtin_FUNCTION());

// Makes a stream part of a capture, unless it is part of one. Called under the mutex.
void join(const std::shared_ptr<Capture>& capture, Stream* stream);
// Returns an error, and invalidates its capture, if a captured stream is waited for or queried.
Result not_captured(Stream* stream);

}  // namespace fake_cuda

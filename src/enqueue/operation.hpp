// Operation: one enqueued operation, from the call that enqueues it until it is complete; in a graph, until its
// communicator is freed. Internal to enqueue/.
//
// Owner: shared, by the stream's queue, the list of running operations, the communicator (graphs) and the request.
// Threads: library lock.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/layer_state.hpp"
#include "comm/communicator.hpp"
#include "enqueue/enqueue.hpp"
#include "mem/device/deferred_free.hpp"
#include "mem/device/ipc.hpp"

namespace hr::enqueue {

using mem::device::CaptureId;

class Operation {
 public:
  Operation(comm::Communicator& comm, Stream& stream)
      : comm_(&comm), alive_(Ref<comm::Communicator>::share(&comm)), stream_(Ref<Stream>::share(&stream)) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation();

  // Starts the ordinary operation. *inner gets a reference that drop() returns.
  virtual Status start(p2p::Request** inner) = 0;
  // Called once the inner request is complete or could not be started.
  virtual void drop(p2p::Request* inner) {
    if (inner != nullptr) p2p::release_request(inner);
  }
  // Releases what would keep the communicator alive. Called when the program has freed the communicator of a graph's
  // operation; the operation is not started again.
  virtual void forget() {}
  // The program's request; null: there is none.
  [[nodiscard]] virtual const p2p::Request* request() const { return outer_; }
  // Name for error messages: "send to rank 3 with tag 7".
  [[nodiscard]] virtual std::string what() const = 0;
  // True if the operation belongs to a graph.
  [[nodiscard]] bool captured() const noexcept { return capture_ != 0; }

  comm::Communicator* comm_;       // null if it was freed, and a graph still contains the operation
  Ref<comm::Communicator> alive_;  // in a graph: only while the operation runs
  Ref<Stream> stream_;
  Place place_;
  CaptureId capture_ = 0;        // capture in which it was enqueued; 0: none
  bool waits_to_begin_ = false;  // the stream continues once the operation has started
  bool waited_ = false;          // the stream waits for it
  bool running_ = false;
  unsigned rounds_ = 0;                   // rounds of progress in which it was running
  bool done_ = false;                     // never in a graph
  std::vector<OperationPointer> others_;  // operations that start with this one
  p2p::Request* inner_ = nullptr;
  p2p::Request* outer_ = nullptr;  // the program's request, with a reference; null: there is none
  StatusSink sink_;
};

// The stream of a communicator, and the operations enqueued on it.
class Attached final : public comm::StreamUse {
 public:
  Attached(comm::Communicator& comm, Ref<Stream> stream) noexcept : comm_(comm), stream_(std::move(stream)) {}
  ~Attached() override;
  Status synchronize() override;

  // Returns the error of an earlier operation, once.
  Status take_error();
  void note_error(Status status, std::string text);

  // True if kernels may wait in the communicator's stream: each of its processes has its own device, and such kernels
  // wait in few enough streams of this process.
  bool may_wait_by_kernels();

  // From now on, launches of graphs no longer start this communicator's operations.
  void leave_graphs();

  comm::Communicator& comm_;
  Ref<Stream> stream_;
  bool own_devices_ = false;                // no two processes of the communicator share a device
  bool kernels_wait_ = false;               // may_wait_by_kernels() has returned true
  bool matched_ = false;                    // the stream may have work of matched requests
  bool freed_ = false;                      // the program has freed the communicator, which requests may keep alive
  int unfinished_ = 0;                      // operations in progress, excluding those of graphs
  std::vector<OperationPointer> captured_;  // operations of graphs

 private:
  Status error_ = kOk;
  std::string why_;
};

// Operations that start a persistent request.
struct Started {
  OperationPointer last;  // null once all are over
  Ref<Stream> stream;     // of the last one
  CaptureId capture = 0;  // of the last one; 0: none
  int pending = 0;        // starts in progress, excluding those of graphs
  bool running = false;   // a start, perhaps of a graph, is running
};

class Matched;
struct MatchedMemory;
struct OpenBuffers;

struct State {
  State();
  ~State();
  std::vector<std::unique_ptr<WordPool>> words;
  std::vector<Matched*> matched;
  std::vector<std::unique_ptr<MatchedMemory>> matched_memory;
  std::vector<mem::device::Mapping*> matched_mappings;
  std::vector<OpenBuffers> open_buffers;  // of requests that were freed
  std::size_t failed_seen = 0;            // of p2p::failed_processes()
  std::vector<Attached*> communicators;
  std::vector<Ref<Stream>> streams;  // with a queue
  std::vector<OperationPointer> running;
  std::vector<OperationPointer> orphans;  // operations of graphs whose communicator was freed
  std::unordered_map<p2p::Request*, Started> persistent;
  mem::device::DeferredFrees::Hold frees;
  std::size_t captured = 0;      // operations of graphs
  std::uint32_t asked_seen = 0;  // of ask_for_waits()
  double reported_at = 0;        // by report_waits()
  bool advancing = false;
  bool hooked = false;
  double last_active = 0;
};
// Null before init() and after finalize().
extern LayerState<State> state;

// Returns the communicator's device stream, and the error of an earlier operation. Errors: see enqueue.hpp.
Status attached_to(comm::Communicator& comm, Attached** attached);

// Returns the capture of the stream; 0 if it is not captured. Errors: MPI_ERR_OTHER (its context was destroyed, its
// capture is broken), MPI_ERR_UNSUPPORTED_OPERATION if the driver cannot capture the operations of append().
Status check_capture(Stream& stream, CaptureId* capture);
// Appends operations that start together to the stream and, if `waits` is true, the waits for their ends.
Status append(Attached& attached, std::span<const OperationPointer> operations, bool waits, CaptureId capture);
// A kernel with one parameter.
struct Launch {
  mem::device::FunctionHandle function = nullptr;
  unsigned blocks = 0, threads = 0;
  void* parameter = nullptr;
};
// Appends kernels, waits, and more kernels to the stream.
Status append_work(Stream& stream, std::span<const Launch> before, std::span<mem::device::StreamOperation> waits,
                   std::span<const Launch> after);
// Returns an error if a wait for `what` cannot be appended now: it was not enqueued in the stream's present capture, or
// outside captures (0), like the wait.
Status check_wait(Stream& stream, CaptureId enqueued_in, const char* what);
// Appends waits for operations of the stream. check_wait() must have been called.
Status append_waits(Stream& stream, std::span<const OperationPointer> operations);

// Creates the program's request for the operation. Errors: MPI_ERR_NO_MEM.
Status make_request(const OperationPointer& operation, p2p::Request** request);
// Result of append() or start_all() for a request.
struct Served {
  OperationPointer operation;  // null if there is none, or if that of the persistent request is complete
  Stream* stream = nullptr;    // null: none
  CaptureId capture = 0;       // it belongs to a graph
  bool made_here = false;      // the request is from make_request()
};
Served served_for(const p2p::Request& request);

// Registers the hook that starts and completes operations, and wakes the thread that makes progress.
void watch();
// Does what ask_for_waits() has asked for. Called in rounds of progress.
void report_waits();
// Logs a line about the communicator's stream if it waits, or may have work of matched operations. `more`: added to the
// line.
void report_waits_of(const Attached& attached, const char* more);
// Ends an operation, with or without an error.
void finish(const OperationPointer& operation, const p2p::Completion& completion, std::string why);

}  // namespace hr::enqueue

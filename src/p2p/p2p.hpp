// p2p: point-to-point messages between processes of the job (MPI 5.0 chapter 3). This layer knows processes and
// contexts, not communicators: only the caller's communicator gives ranks a meaning.
//
// Order: two messages from one process with the same context match in the order they were sent (section 3.5).
// Progress: every function here makes progress on all pending operations; blocking ones wait with progress.hpp's
// wait_until. Memory: blocking calls borrow `data`; non-blocking ones keep a copy of the View and a reference to its
// type; the buffer itself must stay until completion. Errors: MPI_ERR_TRUNCATE from receives (data up to the buffer's
// size is delivered), MPI_ERR_OTHER from a transport or if the other process has left MPI, MPIX_ERR_PROC_FAILED if the
// other process has failed (process_failure.hpp). Threads: library lock.
#pragma once

#include "layout/view.hpp"
#include "p2p/request.hpp"

namespace hr::p2p {

// Context numbers are less than this; messages of other contexts are dropped.
inline constexpr std::uint32_t kMostContexts = std::uint32_t{1} << 22;

enum class Mode : std::uint8_t { kStandard, kSynchronous, kReady };

// The envelope of section 3.2.3. For a send, `source` is the sender's own rank in the communicator; for a receive
// it may be abi::kAnySource, and `tag` abi::kAnyTag.
struct Envelope {
  std::uint32_t context = 0;
  int source = 0;
  int tag = 0;
};

// Queries answered by the layer that creates contexts; used only for operations that may never end, because a process
// has failed (process_failure.hpp) or left MPI, and for counters.
struct ContextMembers {
  // Returns the process for which a receive from this source waits; -1: unknown. If null, the process is the source
  // itself.
  int (*process_of)(std::uint32_t context, int source) = nullptr;
  // Returns the index-th process that sends on the context, counted from 0; -1: there are no more. If null, the senders
  // are not known.
  int (*sender)(std::uint32_t context, int index) = nullptr;
  // Returns a failed process without which nothing on this context can complete, whatever the source: for a collective
  // operation, any of its members. -1: there is none. If null, there never is one.
  int (*missing)(std::uint32_t context) = nullptr;
  // Returns how many of failed_processes() (process_failure.hpp), counted from the first, the program has acknowledged
  // for this context: receives from any source continue without these. If null, all are acknowledged.
  int (*acknowledged)(std::uint32_t context) = nullptr;
};
void set_context_members(const ContextMembers& members);

struct Unexpected;  // p2p/match/matching.hpp
class Channel;      // p2p/channel.hpp

// A message that is matched but not yet received (section 3.8.2).
class Message final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kMessage;
  Message() noexcept : Object(kKind) {}
  Unexpected* unexpected_ = nullptr;  // owned until received
  Channel* channel_ = nullptr;        // null: channel 0
  // Communicator of the message; kept alive until the message is received.
  Object* communicator_ = nullptr;
  void (*destroy_communicator_)(Object*) = nullptr;
  ~Message() {
    if (destroy_communicator_ != nullptr && communicator_->drop()) destroy_communicator_(communicator_);
  }
};

// Called for each message that matches its receive, before its data is stored; may be null. While it is set,
// events::let_checker_look() must be on. It may be called during a delivery. Owner: check/.
inline void (*match_checker)(const Request& receive, const Envelope& message) = nullptr;

// --- blocking ---
Status send(const layout::View& data, int to_proc, const Envelope& envelope, Mode mode);
Status receive(const layout::View& data, const Envelope& wanted, Completion* completion);

// Sends contiguous host memory on the fast path, in standard or ready mode; the program may then reuse its buffer.
// Status::again(): the fast path cannot be used; use send() or isend().
Status send_plain(const std::byte* data, std::size_t bytes, int to_proc, const Envelope& envelope);
// Returns the request that MPI_Isend returns after send_plain(): complete, with a reference for the caller.
[[nodiscard]] Request* completed_send_request() noexcept;

// --- non-blocking: *request receives one reference, which the caller owns ---
Status isend(const layout::View& data, int to_proc, const Envelope& envelope, Mode mode, Request** request);
Status ireceive(const layout::View& data, const Envelope& wanted, Request** request);
// ireceive() for contiguous host memory (layout::find_contiguous_without_driver(), View::is_unknown_to_driver()) of
// `bytes` bytes, without a View.
Status ireceive_contiguous(void* buffer, Count count, const layout::Datatype& type, std::size_t bytes,
                           const Envelope& wanted, Request** request);

// --- persistent (section 3.9): created inactive; start() through Request::state_->start ---
Status send_init(const layout::View& data, int to_proc, const Envelope& envelope, Mode mode, Request** request);
Status receive_init(const layout::View& data, const Envelope& wanted, Request** request);

// --- probing ---
Status iprobe(const Envelope& wanted, bool* found, Completion* completion);
Status probe(const Envelope& wanted, Completion* completion);
Status improbe(const Envelope& wanted, bool* found, Message** message, Completion* completion);
Status mprobe(const Envelope& wanted, Message** message, Completion* completion);
// Both take ownership of the message, whose handle is invalid afterwards.
Status mreceive(const layout::View& data, Message* message, Completion* completion);
Status imreceive(const layout::View& data, Message* message, Request** request);

// --- completion ---
// Waits until `request` is complete (or inactive). The completion stays in the request.
Status wait(Request& request);
// Cancels a send or receive (section 3.8.4), which then completes, cancelled or not; a send does so only once its
// receiver has made progress. Eager sends, unless synchronous, are complete already. Errors: MPI_ERR_REQUEST for
// partitioned and collective operations.
Status cancel(Request& request);
// Ends a send or receive with MPI_ERR_OTHER if it can no longer complete, because every process that could match it has
// left MPI; true if it did. Before, it delivers everything that those processes have sent: do not call it during a
// delivery. Only processes on this host can be seen to have left; this process has not. `blocked`: the calling thread
// waits for this request alone, so this process matches it only by other threads, or by operations that still run.
// Blocking receives, sends and probes, and waits for one request, do this from time to time.
bool end_if_others_left(Request& request, bool blocked = false);
// Returns kOk if MPI_Request_free may free the request; MPI_ERR_REQUEST for a pending partitioned operation (section
// 4.2).
Status may_free(const Request& request);

// Creates a request that is already complete, for operations with MPI_PROC_NULL and the like.
Request* completed_request(const Completion& completion);

// Buffered sends: buffered.hpp.

// True if both processes can map the same memory; false if they communicate over a network, even on one machine.
[[nodiscard]] bool shares_memory(int proc) noexcept;

Status init();
// Sends all pending messages, then closes. Unreceived messages are dropped.
Status finalize();

}  // namespace hr::p2p

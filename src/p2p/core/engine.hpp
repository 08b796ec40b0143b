// Engine: the state of this process's point-to-point messaging, and the steps that the files of this layer share.
//
// Internal to p2p/. Owner: one Engine from init() to finalize(). Threads: library lock.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.hpp"
#include "base/file_states.hpp"
#include "base/layer_state.hpp"
#include "p2p/core/free_blocks.hpp"
#include "p2p/match/matching.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress.hpp"
#include "p2p/wait/sleeper.hpp"
#include "p2p/core/wire.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Protocol message (SyncAck, Cts, Done, ...) that the transport had no room for.
struct ControlMessage {
  static constexpr std::size_t kMaxBytes = 256;
  transport::Header header;
  std::byte payload[kMaxBytes];
  std::size_t bytes;
  std::unique_ptr<std::byte[]> longer;  // used instead of `payload` by messages of layers above
  [[nodiscard]] const std::byte* data() const noexcept { return longer != nullptr ? longer.get() : payload; }
};
static_assert(sizeof(wire::Cts) <= ControlMessage::kMaxBytes && sizeof(wire::Piece) <= ControlMessage::kMaxBytes);

// Another process (or this one); made at the first message to it. Owner: the engine, until finalize().
struct Peer {
  transport::Transport* transport = nullptr;  // carries all messages
  transport::Transport* memory = nullptr;     // reaches unexposed memory (Caps::remote_read); null: none does
  transport::Caps caps;
  std::size_t eager_bytes = 0;
  std::size_t plain_below = 0;  // plain host data of fewer bytes is sent eagerly; 0 if not connected
  counters::Peer* counted = &counters::page.peers[counters::kPeers - 1];  // its counters, once it is connected
  int proc = -1;
  bool connected = false;         // messages may be sent to it
  bool failed = false;            // permanently (process_failure.hpp)
  bool busy = false;              // listed in Engine::busy
  bool has_our_locality = false;  // a wire::Rts::locality has been sent to it
  std::uint64_t locality = 0;     // its device, from the last CTS that it sent; 0: none

  IntrusiveList<Request, &Request::link_> queued;   // envelope messages the transport had no room for, in order
  IntrusiveList<Request, &Request::link_> streams;  // rendezvous sends whose data is being streamed
  std::list<ControlMessage> control_messages;
  std::string why_failed;

  [[nodiscard]] bool idle() const noexcept { return queued.empty() && streams.empty() && control_messages.empty(); }
};

struct Engine {
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  int rank = 0;
  FreeBlocks free_blocks;
  transport::Handlers handlers;
  Peer unconnected;                                     // stands for each process not connected yet
  std::vector<Peer*> peers;                             // indexed by process; never null
  std::vector<Peer*> busy;                              // peers that are not idle
  std::vector<std::unique_ptr<Matcher>> matchers;       // indexed by context
  Matcher no_matcher;                                   // for context numbers out of range; always empty
  std::vector<transport::Transport*> transports;        // transports that need progress
  std::unique_ptr<transport::Transport> failure_watch;  // one of the transports, if it is in use (failure_watch.hpp)
  Sleeper sleeper;
  Request* done = nullptr;  // complete and empty; shared by all sends that complete at once
  // Request for a blocking receive, so that none has to be allocated; a receive within a receive allocates one.
  Request blocking_receive;
  bool blocking_receive_taken = false;
  ContextMembers context_members;
  unsigned failures = 0;              // number of failed processes and ended contexts (process_failure.hpp)
  std::vector<int> failed_processes;  // in the order of their failure
  FileStates<Engine> file_states;
  int processes_on_node = 1;    // number of processes that share the machine's cores
  bool oversubscribed = false;  // more processes on this node than cores
};

inline constinit LayerState<Engine> the_engine;
// Returns null before init() and after finalize().
inline Engine* engine() noexcept { return the_engine.get(); }

// Takes memory from free_blocks, or allocates it if there is no engine.
inline void* take_block(std::size_t bytes) {
  return engine() != nullptr ? engine()->free_blocks.take(bytes) : FreeBlocks::allocate(bytes);
}
inline void give_back_block(void* memory, std::size_t bytes) noexcept {
  engine() != nullptr ? engine()->free_blocks.give_back(memory, bytes) : ::operator delete(memory);
}

// Returns the state of one file of this layer, which lasts from its first use to the end of the engine.
template <class State>
inline State& own() {
  return engine()->file_states.of<State>();
}

// Returns the queues of a context, made at first use; Engine::no_matcher if its number is out of range.
Matcher& make_matcher(std::uint32_t context);
inline Matcher& matcher(std::uint32_t context) {
  const auto& matchers = engine()->matchers;
  if (context < matchers.size() && matchers[context] != nullptr) [[likely]]
    return *matchers[context];
  return make_matcher(context);
}

// Returns the record of that process; Engine::unconnected before the first message to it.
inline Peer& peer_of(int proc) noexcept { return *engine()->peers[static_cast<std::size_t>(proc)]; }
// Makes the peer at its first use. Errors: the transport's; MPIX_ERR_PROC_FAILED if the process has failed.
Status connect(int proc, Peer** out);
Peer& make_peer(int proc);  // without a connection
inline Status connected_peer(int proc, Peer** out) {
  Peer& peer = peer_of(proc);
  *out = &peer;
  return peer.connected ? kOk : connect(proc, out);
}

// Rebuilds the list of active transports.
void list_transports();

// Adds the handlers of this layer's kinds of messages (receive.cpp).
void add_handlers(transport::MessageHandlers& handlers);
// Sets another handler for short eager messages while tools listen for messages. Call when that changes.
void watch_messages();
struct Arrival;
std::span<const Arrival> active_message_arrivals() noexcept;  // active_message.cpp

// --- steps ---
// True if this receive is to be interrupted for this reason (process_failure.hpp).
[[nodiscard]] bool may_be_interrupted(const Request& receive, Status why) noexcept;
void interrupt(Request& receive, Status why);
// Cancels a pending send or receive (MPI_Cancel; request.cpp).
Status cancel_message(Request& request);
// Passes the send to the transport, or queues it (send.cpp).
void start_send(Peer& peer, Request& send);
// Posts the receive, or completes it from an unexpected message (receive.cpp).
void start_receive(Request& receive);
// Delivers a matched unexpected message to its receive, and destroys the record.
void consume(Unexpected* message, Request& receive);
// Sends a protocol message, now or as soon as there is room; does nothing if the process has failed. The payload has at
// most Caps::max_payload bytes. If sending fails, the process is marked as failed.
void send_control(int proc, const transport::Header& header, const void* payload = nullptr, std::size_t bytes = 0);
// Sends the messages queued for this peer, or ends them if the process has failed; true if something moved (send.cpp).
bool flush(Peer& peer);
// Sends the next piece of a rendezvous send as Data; Status::again() if there is no room (stream.cpp).
Status push_piece(Peer& peer, Request& send);
// Informs the receiver that the rest of a message, after `sent` bytes, cannot be read, and why (stream.cpp).
void abandon(int to_proc, const Request& send, std::size_t sent, const std::string& why);
// Moves pieces of the front stream; true if something moved (stream.cpp).
bool push_stream(Peer& peer);
void mark_busy(Peer& peer);

// Completes a request, and may destroy it. If the completion carries an error, the current detail becomes its text.
inline void complete(Request& request, const Completion& completion) {
  request.finish(completion);
  if (request.engine_reference_) {
    request.engine_reference_ = false;
    release(&request);
  }
}
// Makes a point-to-point request, with the references it needs. Null: no memory.
inline Request* make_request(const layout::View& data, bool is_receive, const Envelope& envelope, int proc) {
  Request* request =
      Arena<Request>::instance().create(is_receive, envelope.context, envelope.source, envelope.tag, proc);
  if (request == nullptr) [[unlikely]]
    return nullptr;
  request->view_ = data;
  // The type of a pending operation may be freed by the program (section 5.1.9).
  request->type_ = Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(data.type));
  return request;
}
// Returns the completion of a message of `bytes` bytes received into `capacity` bytes: MPI_ERR_TRUNCATE if it does not
// fit.
Completion received(const Envelope& message, std::size_t bytes, std::size_t capacity);

}  // namespace hr::p2p

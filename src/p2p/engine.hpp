// Engine: the state of point-to-point messaging of this process, and the steps the files of this layer share.
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
#include "p2p/free_blocks.hpp"
#include "p2p/matching.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress.hpp"
#include "p2p/sleeper.hpp"
#include "p2p/wire.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Protocol message (SyncAck, Cts, Done, ...) that the transport had no room for.
struct ControlMessage {
  static constexpr std::size_t kMaxBytes = 256;
  transport::Header header;
  std::byte payload[kMaxBytes];
  std::size_t bytes;
  std::unique_ptr<std::byte[]> longer;  // messages of layers above: used instead of `payload`
  [[nodiscard]] const std::byte* data() const noexcept { return longer != nullptr ? longer.get() : payload; }
};
static_assert(sizeof(wire::Cts) <= ControlMessage::kMaxBytes && sizeof(wire::Piece) <= ControlMessage::kMaxBytes);

// Another process (or this one), from the first message to it. Owner: the engine, until finalize().
struct Peer {
  transport::Transport* transport = nullptr;  // carries all messages
  transport::Transport* memory = nullptr;     // reaches unexposed memory (Caps::remote_read); null: none does
  transport::Caps caps;
  std::size_t eager_bytes = 0;
  std::size_t plain_below = 0;  // plain host data of fewer bytes goes eagerly; 0 if not connected
  counters::Peer* counted = &counters::page.peers[counters::kPeers - 1];  // its row, once it is connected
  int proc = -1;
  bool connected = false;         // messages may be sent to it
  bool failed = false;            // for good (process_failure.hpp)
  bool busy = false;              // in Engine::busy
  bool has_our_locality = false;  // it was sent a wire::Rts::locality
  std::uint64_t locality = 0;     // of the device of the last message that it cleared; 0: none

  IntrusiveList<Request, &Request::link_> queued;   // envelope messages the transport had no room for, in order
  IntrusiveList<Request, &Request::link_> streams;  // rendezvous sends whose data is on its way
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
  Peer unconnected;                                     // stands for each process without a message so far
  std::vector<Peer*> peers;                             // by process; never null
  std::vector<Peer*> busy;                              // peers that are not idle
  std::vector<std::unique_ptr<Matcher>> matchers;       // by context
  Matcher no_matcher;                                   // for context numbers out of range; always empty
  std::vector<transport::Transport*> transports;        // those that make progress
  std::unique_ptr<transport::Transport> failure_watch;  // one of them, if there is one (failure_watch.hpp)
  Sleeper sleeper;
  Request* done = nullptr;  // complete, empty, shared: returned by sends that are done at once
  // Request of a blocking receive, so that none has to be made; a receive within a receive makes its own.
  Request blocking_receive;
  bool blocking_receive_taken = false;
  ContextMembers context_members;
  unsigned failures = 0;              // failed processes and ended contexts, counted (process_failure.hpp)
  std::vector<int> failed_processes;  // failed processes, in order
  FileStates<Engine> file_states;
  int processes_on_node = 1;    // they share the machine's cores
  bool oversubscribed = false;  // more processes on this node than cores
};

inline constinit LayerState<Engine> the_engine;
// Null before init() and after finalize().
inline Engine* engine() noexcept { return the_engine.get(); }

// Takes memory from free_blocks; allocates it if there is no engine (any more).
inline void* take_block(std::size_t bytes) {
  return engine() != nullptr ? engine()->free_blocks.take(bytes) : FreeBlocks::allocate(bytes);
}
inline void give_back_block(void* memory, std::size_t bytes) noexcept {
  engine() != nullptr ? engine()->free_blocks.give_back(memory, bytes) : ::operator delete(memory);
}

// State of one file of this layer, from its first use to the end of the engine.
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

// Lists the active transports anew.
void list_transports();

// Adds the handlers of this layer's kinds of messages (receive.cpp).
void add_handlers(transport::MessageHandlers& handlers);
// Gives short eager messages another handler while tools want to hear of messages. Call when that changes.
void watch_messages();
struct Arrival;
std::span<const Arrival> active_message_arrivals() noexcept;  // active_message.cpp

// --- steps ---
// True if this receive is to be interrupted for this reason (process_failure.hpp).
[[nodiscard]] bool may_be_interrupted(const Request& receive, Status why) noexcept;
void interrupt(Request& receive, Status why);
// Cancels a pending send or receive (MPI_Cancel; request.cpp).
Status cancel_message(Request& request);
// Gives the request to the transport or queues it (send.cpp).
void start_send(Peer& peer, Request& send);
// Posts it, or completes it from an unexpected message (receive.cpp).
void start_receive(Request& receive);
// Gives a matched unexpected message to its receive; destroys the record.
void consume(Unexpected* message, Request& receive);
// Sends an answer, now or as soon as there is room, but not to a failed process; the payload has at most
// Caps::max_payload bytes. If it cannot be sent, the process has failed.
void send_control(int proc, const transport::Header& header, const void* payload = nullptr, std::size_t bytes = 0);
// Sends what is queued for this peer, or ends it if the process has failed; true if something moved (send.cpp).
bool flush(Peer& peer);
// Sends the next piece of a rendezvous send as Data; Status::again() if there is no room (stream.cpp).
Status push_piece(Peer& peer, Request& send);
// Tells the receiver that the rest of a message, of which `sent` bytes are on their way, cannot be read, and why
// (stream.cpp).
void abandon(int to_proc, const Request& send, std::size_t sent, const std::string& why);
// Moves pieces of the front stream; true if something moved (stream.cpp).
bool push_stream(Peer& peer);
void mark_busy(Peer& peer);

// Completes a request; the current detail becomes its text if the completion carries an error. May destroy it.
inline void complete(Request& request, const Completion& completion) {
  request.finish(completion);
  if (request.engine_reference_) {
    request.engine_reference_ = false;
    release(&request);
  }
}
// Makes a request for point-to-point use, with the references it needs. Null: no memory.
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
// Returns the completion of a message of `bytes` received into `capacity`: MPI_ERR_TRUNCATE if it does not fit.
Completion received(const Envelope& message, std::size_t bytes, std::size_t capacity);

}  // namespace hr::p2p

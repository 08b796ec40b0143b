// Engine: the state of this process's point-to-point messaging. steps.hpp declares the steps that work on it;
// message/start.cpp creates and destroys it.
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
#include "p2p/core/wire.hpp"
#include "p2p/match/matching.hpp"
#include "p2p/p2p.hpp"
#include "p2p/wait/sleeper.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Protocol message (SyncAck, Cts, Done, ...) for which the transport had no space.
struct ControlMessage {
  static constexpr std::size_t kMaxBytes = 256;
  transport::Header header;
  std::byte payload[kMaxBytes];
  std::size_t bytes;
  std::unique_ptr<std::byte[]> longer;  // used instead of `payload` by messages of layers above
  [[nodiscard]] const std::byte* data() const noexcept { return longer != nullptr ? longer.get() : payload; }
};
static_assert(sizeof(wire::Cts) <= ControlMessage::kMaxBytes && sizeof(wire::Piece) <= ControlMessage::kMaxBytes);

// Another process (or this one); created for the first message to it. Owner: the engine, until finalize().
struct Peer {
  transport::Transport* transport = nullptr;  // carries all messages
  transport::Transport* memory = nullptr;     // reaches unexposed memory (Caps::remote_read); null: none does
  transport::Caps caps;
  std::size_t eager_bytes = 0;
  std::size_t plain_below = 0;  // plain host data shorter than this is sent eagerly; 0 if not connected
  counters::Peer* counted = &counters::page.peers[counters::kPeers - 1];  // counters of the peer, once it is connected
  int proc = -1;
  bool connected = false;         // messages may be sent to this peer
  bool failed = false;            // permanently (process_failure.hpp)
  bool busy = false;              // listed in Engine::busy
  bool has_our_locality = false;  // a wire::Rts::locality has been sent to it
  std::uint64_t locality = 0;     // locality of the peer's device, from its last CTS; 0: none

  IntrusiveList<Request, &Request::link_> queued;   // envelope messages for which the transport had no space, in order
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
  Peer unconnected;                                // used for each process that is not connected yet
  std::vector<Peer*> peers;                        // indexed by process; never null
  std::vector<Peer*> busy;                         // peers that are not idle
  std::vector<std::unique_ptr<Matcher>> matchers;  // indexed by context
  Matcher no_matcher;                              // used for context numbers out of range; always empty
  std::vector<transport::Transport*> transports;   // transports that need progress
  std::unique_ptr<transport::Transport>
      failure_watch;  // listed among the transports if it is in use (failure_watch.hpp)
  Sleeper sleeper;
  Request* done = nullptr;  // complete and empty; shared by all sends that complete immediately
  // Request for blocking receives, so that none has to be allocated. A receive within a receive allocates one.
  Request blocking_receive;
  bool blocking_receive_taken = false;
  ContextMembers context_members;
  unsigned failures = 0;              // number of failed processes and ended contexts (process_failure.hpp)
  std::vector<int> failed_processes;  // failed processes, in the order in which they failed
  FileStates<Engine> file_states;
  int processes_on_node = 1;    // number of processes that share the machine's cores
  bool oversubscribed = false;  // true if this node has more processes than cores
  bool polls_network = false;   // a round of progress polls a transport to other hosts
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

// Returns the state of one source file of this layer, which lasts from its first use to the end of the engine.
template <class State>
inline State& own() {
  return engine()->file_states.of<State>();
}

// Returns the queues of a context, created on first use; Engine::no_matcher if its number is out of range.
Matcher& make_matcher(std::uint32_t context);
inline Matcher& matcher(std::uint32_t context) {
  const auto& matchers = engine()->matchers;
  if (context < matchers.size() && matchers[context] != nullptr) [[likely]]
    return *matchers[context];
  return make_matcher(context);
}

// Returns the record of that process; Engine::unconnected before the first message to it.
inline Peer& peer_of(int proc) noexcept { return *engine()->peers[static_cast<std::size_t>(proc)]; }
// Creates the peer on first use. Errors: the transport's; MPIX_ERR_PROC_FAILED if the process has failed.
Status connect(int proc, Peer** out);
Peer& make_peer(int proc);  // without a connection
// Called after the transport has not accepted a message. True if it accepts only shorter ones from now on, as there is
// no memory for longer ones: the caller chooses again how to send it.
[[gnu::cold]] bool takes_less(Peer& peer);
inline Status connected_peer(int proc, Peer** out) {
  Peer& peer = peer_of(proc);
  *out = &peer;
  return peer.connected ? kOk : connect(proc, out);
}

}  // namespace hr::p2p

// Tcp: the transport over TCP sockets: one listening socket, and connections that are made when a process first sends.
//
// Its functions are in files by subject: start-up (start.cpp), connections and their proof (connect.cpp), channels
// (channel.cpp), the failure of paths (failure.cpp), sending (send.cpp), rendezvous (rendezvous.cpp), receiving and
// progress (receive.cpp), closing (close.cpp).
//
// A channel (Transport::make_channel()) is an object of this class, too, with peers, connections and descriptors of its
// own. It has no listening socket: the transport itself, its `whole`, accepts all connections, checks their proofs, and
// hands over those that name a channel. The channel takes a connection in its next round of progress, which an event
// of its own descriptor starts.
//
// Anybody may connect: a connection that has not proven the key is closed after a second, or earlier if there are many,
// and nothing but its proof is read (handshake.hpp). The data of a rendezvous is received where the program wants it.
//
// Owner: the registry of transports; of a channel, p2p/. Threads: library lock, or the channel's lock, except sleep()
// and wake(). A channel takes the library lock for addresses, dropped messages and error texts; hand_over() is called
// with the library lock, and does not wait for the channel's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/secret.hpp"
#include "transport/network/buffers.hpp"
#include "transport/network/eager.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/network/probe.hpp"
#include "transport/tcp/frame.hpp"
#include "transport/tcp/interface.hpp"
#include "transport/tcp/peer.hpp"
#include "transport/transport.hpp"

namespace hr::transport::tcp {

using network::kMaxPayload;

// Maximum number of unused landings that are kept.
inline constexpr std::size_t kMostLandings = 4;

class Tcp final : public network::NetworkTransport<Peer> {
 public:
  Tcp(const Job& job, const Handlers& handlers)
      : NetworkTransport("tcp", job, handlers),
        others_(job_size_ - std::min(job_size_, job.processes.of_this_host().size())) {}
  // A channel of `whole`.
  Tcp(Tcp& whole, int number, const Handlers& handlers);
  ~Tcp() override;

  Status create();
  Status open_events();
  [[nodiscard]] std::string route_to(int /*proc*/) override { return "interface " + interface_.name; }
  [[nodiscard]] Caps caps(int proc) const noexcept override {
    const Peer* const known = find(proc);
    return {.inline_bytes = 0,
            .max_payload = kMaxPayload,
            .chunk_bytes = kMaxPayload,
            .eager_bytes = network::eager_bytes(known != nullptr ? known->tuned_eager_bytes : 0, cost_.latency_seconds,
                                                network::kMostEager),
            .rendezvous = true,
            .latency_seconds = cost_.latency_seconds,
            .bytes_per_second = cost_.bytes_per_second};
  }

  Status connect(int proc) override;
  Status send(int proc, const Header& header, const void* payload, std::size_t bytes) override;
  std::byte* reserve(int proc, std::size_t bytes) override;
  void commit(int proc, const Header& header) override;
  Status send_rts(int proc, const Header& header, const void* payload, std::size_t payload_bytes,
                  const transport::Source& data, Operation* done) override;
  Status receive_rendezvous(int proc, RendezvousData data, Sink* into, Operation* done) override;
  void decline_rendezvous(int proc, RendezvousData data) noexcept override;
  [[nodiscard]] bool has_rendezvous(int proc, RendezvousData data) const noexcept override {
    const auto found = kept_.find(data.token);
    return found != kept_.end() && found->second.proc == proc;
  }
  [[nodiscard]] bool announces_room(int proc) const noexcept override {
    const Peer* const to = peers_[static_cast<std::size_t>(proc)].get();
    return to != nullptr && to->failure == 0 && to->retry_at == 0 && to->out != nullptr && !has_room(*to);
  }
  bool progress() override;

  [[nodiscard]] int arrivals() const noexcept override { return events_; }
  [[nodiscard]] bool arm_arrivals() override;

  [[nodiscard]] int most_channels() const noexcept override;
  Status make_channel(int number, const Handlers& handlers, std::unique_ptr<Transport>* out) override;

  Status set_peer_address(int proc, const std::string& address) override;
  bool disconnect(std::span<const int> procs) override;
  Status finalize() override;

 private:
  // Data that another process keeps for this one.
  struct Kept {
    int proc;
    Tail tail;
  };

  std::unique_ptr<Peer> make_peer(int proc, std::uint32_t own_name) override {
    return std::make_unique<Peer>(proc, own_name);
  }

  // --- connect.cpp ---
  // Sets the peer's address, key and host.
  Status address_of(Peer& peer);
  // Starts to connect. An error makes the path fail, unless a later attempt may succeed.
  void dial(Peer& peer);
  // `operation`: an operation of epoll_ctl(). On an error, closes the socket and returns null.
  Connection* add(int socket, bool accepted, int operation);
  void close(Connection& connection);
  void accept_some();
  // Accepts connections, or leaves them to the system.
  void listen(bool on);
  // Called when the system has made the connection, or reports why it cannot.
  void connected(Connection& connection);
  // Replaces a connection that the system has not made yet.
  void redial(Peer& peer);
  // Closes a connection that this process was making, to try again later.
  void try_again(Connection& connection, int error);
  static void try_later(Peer& peer, int error);
  // Receives the rest of the other side's proof; false if it is not complete.
  bool read_proof(Connection& connection, void* proof, std::size_t bytes);
  void read_hello(Connection& connection);
  void read_welcome(Connection& connection);
  // Finds the process to which a proven connection belongs.
  void name(Connection& connection);
  // Answers the other side's proof, which was the right one.
  void welcome(Connection& connection, int proc);
  void opened(Connection& connection, Peer& peer);
  void check_connections(double now);
  void check_unanswered(Peer& peer, double now);

  // --- channel.cpp ---
  // Hands a connection over to the channel that it names.
  void pass_on(Connection& connection, int proc);
  // Called by a channel: accepts connections of the whole, unless another thread has the library lock.
  void accept_beside();
  // Called by the whole. False if this channel cannot take the connection.
  [[nodiscard]] bool hand_over(const Handed& connection);
  void take_handed();

  // --- send.cpp ---
  // True if a message is accepted: the connection is open, and the system has accepted all earlier messages, though
  // perhaps not all data. Otherwise the message would be queued, and stay here if the program made no further calls.
  [[nodiscard]] static bool has_room(const Peer& peer) noexcept {
    return peer.failure == 0 && peer.is_open() && !peer.holds_message && !peer.is_full;
  }
  // Sends a frame, or as much of it as the system accepts, and queues the rest. False if there is no memory, or the
  // system accepts nothing of a message.
  bool post(Peer& peer, const FrameHead& head, const void* payload, std::size_t bytes);
  void post_word(Peer& peer, Frame kind, std::uint64_t first, std::uint64_t second);
  void enqueue(Peer& peer, const Piece& piece);
  void flush(Peer& peer);
  void feed(Peer& peer);
  void consume(Peer& peer, std::size_t bytes);
  void watch(Connection& connection, bool room);
  // Makes the system send the short messages that it has collected; called at the beginning of a round of progress.
  void push();

  // --- receive.cpp ---
  bool serve(Connection& connection, std::uint32_t events);
  bool read(Connection& connection);
  std::unique_ptr<Landing> take_landing();
  void give_back(std::unique_ptr<Landing> landing);
  void parse(Connection& connection, Landing& landing);
  void deliver(Connection& connection, const FrameHead& head, const std::byte* payload);
  void deliver_rts(Peer& peer, const FrameHead& head, const std::byte* payload);
  void begin_data(Connection& connection, const FrameHead& head);
  void take_data(Connection& connection, const std::byte* data, std::size_t bytes);

  // --- rendezvous.cpp ---
  void start_source(Peer& peer, std::uint64_t number, std::uint64_t bytes);
  void end_source(std::uint64_t number, Status status);

  // --- failure.cpp ---
  [[nodiscard]] Status why_failed(const Peer& peer) const override;
  void fail_unreachable(Peer& peer) override;
  // Counts a message that was dropped.
  static void drop(int proc, const char* why) noexcept;
  void fail_path(Peer& peer, int error, const char* why = nullptr);
  // Called when a peer has sent bytes that this library does not send.
  void malformed(Peer& peer);
  // `error`: 0 if the other process has closed the connection.
  void ended(Connection& connection, int error);
  void end_broken();
  void drop_queue(Peer& peer);
  // `seen_all`: all events have been handled.
  void tick(bool seen_all);
  void look_at(Peer& peer);
  void sweep();

  void forget(Peer& peer);
  void drain(std::span<Peer* const> peers);

  Tcp* whole_ = nullptr;  // null, unless this is a channel
  std::uint32_t channel_ = 0;
  unsigned rounds_alone_ = 0;   // rounds of progress of this channel
  std::vector<Tcp*> channels_;  // of the whole, indexed by number; null: not made, or ended
  std::mutex handed_mutex_;
  std::vector<Handed> handed_;  // guarded by handed_mutex_
  network::Buffers<Nothing> buffers_{counters::Buffers::kTcp};
  Nonce key_{};
  Interface interface_;
  Cost cost_;
  int listener_ = -1;
  network::ClosedPort closed_port_;  // of the whole
  int events_ = -1;                  // epoll
  std::size_t others_;               // processes of the job on other hosts
  std::vector<std::unique_ptr<Connection>> connections_;
  std::set<Nonce> challenges_;                         // of all proven Hellos; none is accepted again
  std::vector<Connection*> unproven_;                  // accepted ones without a Hello or a name, oldest first
  std::vector<Peer*> connecting_;                      // peers to which this process connects
  bool has_closed_ = false;                            // sweep() has something to do
  std::unordered_map<std::uint64_t, Source> sources_;  // indexed by number
  std::unordered_map<std::uint64_t, Kept> kept_;       // indexed by token
  std::vector<std::unique_ptr<Landing>> landings_;
  int burst_ = 0;  // messages sent since the last round of progress
  std::vector<Peer*> collecting_;
  std::uint64_t next_source_ = 1;
  std::uint64_t next_token_ = 1;
  double next_tick_ = 0;
  double next_look_ = 0;
  bool is_deaf_ = false;  // the process had no descriptor left for another connection, and accepts none for a while
  bool said_deaf_ = false;
  bool said_full_ = false;  // that a process accepts no connections, although its host answers
  int rounds_ = 0;          // rounds of progress since the last tick
};

}  // namespace hr::transport::tcp

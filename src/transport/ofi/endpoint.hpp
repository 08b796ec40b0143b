// Ofi: the transport over libfabric: one reliable datagram endpoint for all other processes.
//
// Its functions are in files by subject: start-up (start.cpp), paths to other processes (connect.cpp) and their
// failure (failure.cpp), sending (send.cpp), rendezvous and memory of others (rendezvous.cpp), receiving and progress
// (receive.cpp), closing (close.cpp).
//
// Owner: the registry of transports. Threads: library lock, except those of arm(), sleep() and wake().
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/knobs.hpp"
#include "transport/network/buffers.hpp"
#include "transport/network/eager.hpp"
#include "transport/network/inbox.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/network/probe.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/memory.hpp"
#include "transport/ofi/peer.hpp"
#include "transport/ofi/requests.hpp"
#include "transport/transport.hpp"

namespace hr::transport::ofi {

// Maximum number of messages in flight to a peer; further ones wait in the layer above.
inline constexpr int kMostInFlight = 32;
// Maximum number of messages started since the last round of progress. Without rounds, a provider does not notice that
// a connection is lost, and drops messages. A refused message makes the layer above start a round.
inline constexpr int kMostUnpolled = 256;
// Number of buffers into which messages are received.
inline constexpr std::size_t kLandings = 3;
// Number of further buffers that are kept apart for a while after a receive into them has failed.
inline constexpr std::size_t kMostRetired = 8;
inline constexpr std::size_t kLandingBytes = std::size_t{512} << 10;
inline constexpr std::size_t kLeastLanding = kFront + kMaxPayload;
// A buffer is released when its rest is too short for the longest message, so each one receives several.
static_assert(kLandingBytes >= 4 * kLeastLanding);

class Ofi final : public network::NetworkTransport<Peer> {
 public:
  Ofi(const Job& job, const Handlers& handlers, const Library& library)
      : NetworkTransport("ofi", job, handlers), library_(library), fabric_(library) {}
  ~Ofi() override;

  // Starts the transport; closes it after an error.
  Status create();
  [[nodiscard]] std::string route_to(int /*proc*/) override {
    return "provider " + fabric_.provider() + " on " + fabric_.device();
  }
  [[nodiscard]] Caps caps(int proc) const noexcept override {
    const Peer* const known = find(proc);
    return {.inline_bytes = 0,
            .max_payload = kMaxPayload,
            .chunk_bytes = kMaxPayload,
            .eager_bytes = network::eager_bytes(known != nullptr ? known->tuned_eager_bytes : 0, cost_.latency_seconds,
                                                kMaxPayload - kMostInFront),
            .rendezvous = true,
            .exposed_memory = may_expose() && is_of_job(proc),
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
    return inbox_.holds(data.token) && found != kept_.end() && found->second.proc == proc;
  }
  bool progress() override;

  [[nodiscard]] bool may_expose() const noexcept override {
    const RmaNetworkChoice choice = knobs().rma_network;
    if (late_ || choice == RmaNetworkChoice::kOff) return false;
    return choice == RmaNetworkChoice::kOn || !fabric_.is_kernel_network();
  }
  Status expose(std::byte* address, std::size_t bytes, RemoteKey* key) override {
    return memory_.expose(address, bytes, key);
  }
  void withdraw(const RemoteKey& key) noexcept override { memory_.withdraw(key); }
  Status get(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override {
    return move(proc, key, parts, false, done);
  }
  Status put(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override {
    return move(proc, key, parts, true, done);
  }
  Status flush(int proc, Operation* done) override {
    HR_TRY(usable(proc));
    memory_.flush(proc, done);
    return kOk;
  }

  [[nodiscard]] int arrivals() const noexcept override { return fabric_.descriptor(); }
  [[nodiscard]] bool arm_arrivals() override;

  bool disconnect(std::span<const int> procs) override;
  Status finalize() override;

 private:
  std::unique_ptr<Peer> make_peer(int proc, std::uint32_t own_name) override {
    return std::make_unique<Peer>(*this, proc, own_name);
  }
  [[nodiscard]] Status why_failed(const Peer& peer) const override;
  void fail_unreachable(Peer& peer) override;
  [[nodiscard]] bool has_room(const Peer& peer) noexcept {
    return peer.in_flight < kMostInFlight && peer.failure == 0 && unpolled_++ < kMostUnpolled;
  }
  Status move(int proc, const RemoteKey* key, std::span<const RemotePart> parts, bool write, Operation* done);
  Status start();
  void close_fabric() noexcept;
  // Finds the provider's address for a peer, and the peer's secret.
  Status address_of(Peer& peer);

  Buffer* buffer(std::size_t bytes);
  void post(Peer& peer, Buffer* buffer, Front front, bool must_report = false);
  // Sends a message of the transport's own: a word in place of the header.
  void post_word(Peer& peer, Front front, std::uint32_t sequence, std::uint64_t word,
                 void (*done)(Request&, int) = nullptr, bool must_report = false);
  static void sent(Request& request, int error);

  void post_landings();
  void arrive(const std::byte* message, std::size_t bytes);
  void arrive_ask(int from);
  void arrive_rts(const std::byte* message, std::size_t bytes);
  void end_source(int from, std::uint64_t number);
  void read_error();
  void receive_failed(Landing& landing, int error, std::uint64_t flags);
  void release(Landing& landing);
  Status make_landing();
  void say_deaf(ssize_t error);

  void go_on(Fetch* fetch);
  static void piece_done(Request& request, int error);

  void fail_path(Peer& peer, int error);
  void end_broken();
  void tick();
  // Queries peers that have not been heard from, once it is time.
  void ask(double now);
  void hear_of(int from);
  void look_at(Peer& peer, double now);
  void look_at_probe(Peer& peer, double now);

  void flush_some(std::span<Peer* const> peers);
  void forget(Peer& peer);

  const Library& library_;
  network::Inbox inbox_{names_, handlers_, counters::Buffers::kOfi};
  Fabric fabric_;
  network::ClosedPort closed_port_;
  Requests requests_;
  Memory memory_{fabric_, requests_};
  network::Buffers<Sending> buffers_{counters::Buffers::kOfi};
  Buffered buffered_{counters::Buffers::kOfi};  // landings, and pieces that are unpacked
  Cost cost_;
  std::deque<Landing> landings_;  // kLandings in use, and the retired ones
  std::vector<Landing*> unposted_;
  std::deque<Landing*> retired_;                       // a receive into them has failed; the oldest first
  std::unordered_map<std::uint64_t, Source> sources_;  // indexed by number
  std::unordered_map<std::uint64_t, Kept> kept_;       // indexed by token
  std::vector<Fetch*> fetches_;                        // fetches that have not ended
  std::unordered_map<int, std::uint32_t> farewells_;   // numbers of messages that processes sent before disconnecting
  int unpolled_ = 0;                                   // messages started since the last round of progress
  std::uint64_t next_source_ = 1;
  std::uint64_t next_token_ = 1;
  std::vector<Peer*> unheard_;  // messages to these peers wait
  unsigned rounds_ = 0;         // rounds of progress with events
  double next_tick_ = 0;
  double next_ping_ = 0;
  bool said_deaf_ = false;  // that the provider accepts no buffers for messages
  bool said_full_ = false;  // that a process accepts no connections, although its host answers
  bool closed_ = false;
};

}  // namespace hr::transport::ofi

// Ofi: the transport over libfabric: one reliable datagram endpoint for all other processes.
//
// Its functions are in files by subject: start-up (start.cpp), paths to other processes (connect.cpp) and their
// failure (failure.cpp), sending (send.cpp), rendezvous and memory of others (rendezvous.cpp), receiving and progress
// (receive.cpp), closing (close.cpp).
//
// Owner: the registry of transports. Threads: library lock, except those of arm(), sleep() and wake().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "transport/network/address.hpp"
#include "transport/network/buffers.hpp"
#include "transport/network/eager.hpp"
#include "transport/network/failed_paths.hpp"
#include "transport/network/inbox.hpp"
#include "transport/network/names.hpp"
#include "transport/network/sleepers.hpp"
#include "transport/network/unwatched.hpp"
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
inline constexpr std::size_t kLandingBytes = std::size_t{512} << 10;
inline constexpr std::size_t kLeastLanding = kFront + kMaxPayload;

class Ofi final : public Transport {
 public:
  Ofi(const Job& job, const Handlers& handlers, const Library& library)
      : rank_(job.rank),
        late_(job.late),
        handlers_(handlers),
        library_(library),
        names_(job),
        places_("ofi", job.size),
        fabric_(library),
        peers_(static_cast<std::size_t>(job.size)),
        job_size_(static_cast<std::size_t>(job.size)) {}
  ~Ofi() override;

  Status create();
  Status open() override { return late_ ? kOk : places_.prefetch(); }

  [[nodiscard]] std::string_view name() const noexcept override { return "ofi"; }
  [[nodiscard]] bool reaches(int proc) const noexcept override {
    const auto at = static_cast<std::size_t>(proc);
    return at < job_size_ ? proc != rank_ && !late_ : at < addresses_.size() && !addresses_[at].empty();
  }
  [[nodiscard]] Caps caps(int proc) const noexcept override {
    const auto at = static_cast<std::size_t>(proc);
    const Peer* const known = at < peers_.size() ? peers_[at].get() : nullptr;
    return {.inline_bytes = 0,
            .max_payload = kMaxPayload,
            .chunk_bytes = kMaxPayload,
            .eager_bytes = network::eager_bytes(known != nullptr ? known->tuned_eager_bytes : 0, cost_.latency_seconds,
                                                kMaxPayload - kMostInFront),
            .rendezvous = true,
            .exposed_memory = may_expose() && at < job_size_,
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

  [[nodiscard]] bool can_sleep() const noexcept override { return sleepers_.is_open(); }
  [[nodiscard]] std::optional<std::uint32_t> arm() override;
  void sleep(std::uint32_t armed, double at_most_seconds) override {
    sleepers_.sleep(armed, at_most_seconds);
    sleepers_.disarm(armed);
  }
  void wake() noexcept override { sleepers_.wake(); }
  [[nodiscard]] int arrivals() const noexcept override { return fabric_.descriptor(); }
  [[nodiscard]] bool arm_arrivals() override;

  Status describe(std::string* address) override;
  Status set_peer_address(int proc, const std::string& address) override;
  bool disconnect(std::span<const int> procs) override;
  [[nodiscard]] bool has_lost(int proc) const noexcept override {
    const auto at = static_cast<std::size_t>(proc);
    return at < peers_.size() && peers_[at] != nullptr && peers_[at]->failure != 0;
  }
  Status finalize() override;

 private:
  Peer& peer(int proc) {
    auto& entry = peers_[static_cast<std::size_t>(proc)];
    if (entry == nullptr) [[unlikely]]
      entry = std::make_unique<Peer>(*this, proc, names_.own_for(proc));
    return *entry;
  }
  [[nodiscard]] Fabric::Listens listens() const {
    // All hosts of a job with declared hosts are this machine (mpiexec --as-hosts).
    if (!late_ && boot::identity().declared_hosts) return Fabric::Listens::kOnLoopback;
    // `late_`: for processes of other jobs. `one_host`: for processes of this host that share no memory.
    const bool one_host = boot::processes().of_this_host().size() == job_size_;
    return late_ || one_host ? Fabric::Listens::kOnLoopbackIfAlone : Fabric::Listens::kForOtherHosts;
  }
  [[nodiscard]] Status why_failed(const Peer& peer) const;
  [[nodiscard]] bool has_room(const Peer& peer) noexcept {
    return peer.in_flight < kMostInFlight && peer.failure == 0 && unpolled_++ < kMostUnpolled;
  }
  [[nodiscard]] Status no_room(const Peer& peer) const { return peer.told ? why_failed(peer) : Status::again(); }
  Status usable(int proc);
  Status move(int proc, const RemoteKey* key, std::span<const RemotePart> parts, bool write, Operation* done);
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

  void go_on(Fetch* fetch);
  static void piece_done(Request& request, int error);

  void watch_some();
  void fail_path(Peer& peer, int error);
  void end_broken();
  void tick();
  // Queries peers that have not been heard from, once it is time.
  void ask(double now);
  void hear_of(int from);
  void look_at(Peer& peer, double now);

  void flush_some(std::span<Peer* const> peers);
  void forget(Peer& peer);

  int rank_;
  bool late_;  // created only by this process of the job, for processes of other jobs
  const Handlers& handlers_;
  const Library& library_;
  network::Names names_;
  network::Addresses places_;
  network::Inbox inbox_{names_, handlers_, counters::Buffers::kOfi};
  Fabric fabric_;
  Requests requests_;
  Memory memory_{fabric_, requests_};
  network::Buffers<Sending> buffers_{counters::Buffers::kOfi};
  Buffered buffered_{counters::Buffers::kOfi};  // landings, and pieces that are unpacked
  network::Sleepers sleepers_;
  Cost cost_;
  std::vector<std::unique_ptr<Peer>> peers_;  // indexed by process
  std::size_t job_size_;
  std::vector<std::vector<std::byte>> addresses_;  // indexed by process; only for those of other jobs
  network::Unwatched unwatched_;
  std::array<Landing, kLandings> landings_;
  std::vector<Landing*> unposted_;
  std::unordered_map<std::uint64_t, Source> sources_;  // indexed by number
  std::unordered_map<std::uint64_t, Kept> kept_;       // indexed by token
  std::vector<Fetch*> fetches_;                        // fetches that have not ended
  std::unordered_map<int, std::uint32_t> farewells_;   // numbers of messages that processes sent before disconnecting
  int unpolled_ = 0;                                   // messages started since the last round of progress
  std::uint64_t next_source_ = 1;
  std::uint64_t next_token_ = 1;
  std::vector<Peer*> unheard_;         // messages to these peers wait
  std::vector<Peer*> broken_;          // failed peers with operations that have not ended yet
  network::FailedPaths<Peer> failed_;  // not reported yet
  double next_tick_ = 0;
  double next_ping_ = 0;
  std::string own_address_;
  bool closing_ = false;  // nothing more will be sent or received
  bool closed_ = false;
};

}  // namespace hr::transport::ofi

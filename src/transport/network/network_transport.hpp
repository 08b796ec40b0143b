// NetworkTransport: the common part of the transports over a network: peers and their addresses, paths that have
// failed, processes of other jobs, and threads that sleep.
//
// `Peer` is another process as the transport sees it: a class derived from PeerState, with a `failure` that is not 0
// once the path to the process has failed. A peer is created on the first message from it or the first connect() to it.
//
// Owner: the registry of transports; of a channel, p2p/. Threads: library lock, or the channel's lock, except arm(),
// sleep() and wake().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"
#include "transport/network/address.hpp"
#include "transport/network/descriptors.hpp"
#include "transport/network/failed_paths.hpp"
#include "transport/network/listens.hpp"
#include "transport/network/names.hpp"
#include "transport/network/sleepers.hpp"
#include "transport/network/unwatched.hpp"
#include "transport/network/wait.hpp"
#include "transport/transport.hpp"

namespace hr::transport::network {

template <class Buffer>
struct PeerState {
  PeerState(int process, std::uint32_t name) : proc(process), own_name(name) {}
  int proc;
  std::uint32_t own_name;      // name of this process in messages to the peer
  std::string host;            // name of the peer's host; empty: not known, as for processes of other jobs
  Buffer* reserved = nullptr;  // the message between reserve() and commit()
  double failed_at = 0;
  bool told = false;  // the failure has been reported
};

template <class Peer>
class NetworkTransport : public Transport {
 public:
  Status open() override { return late_ ? kOk : places_.prefetch(); }

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] bool reaches(int proc) const noexcept override {
    const auto at = static_cast<std::size_t>(proc);
    return at < job_size_ ? proc != rank_ && !late_ : at < addresses_.size() && !addresses_[at].empty();
  }
  [[nodiscard]] bool has_lost(int proc) const noexcept override {
    const Peer* const known = find(proc);
    return known != nullptr && known->failure != 0;
  }

  [[nodiscard]] bool can_sleep() const noexcept override { return sleepers_.is_open(); }
  [[nodiscard]] std::optional<std::uint32_t> arm() override {
    const auto bell = sleepers_.arm();
    if (!bell || this->arm_arrivals()) return bell;
    sleepers_.disarm(*bell);
    return std::nullopt;
  }
  void sleep(std::uint32_t armed, double at_most_seconds) override {
    sleepers_.sleep(armed, at_most_seconds);
    sleepers_.disarm(armed);
  }
  void wake() noexcept override { sleepers_.wake(); }

  Status describe(std::string* address) override {
    *address = own_address_;
    return kOk;
  }
  Status set_peer_address(int proc, const std::string& address) override {
    const auto at = static_cast<std::size_t>(proc);
    peers_.resize(std::max(peers_.size(), at + 1));
    addresses_.resize(peers_.size());
    const std::string prefix = std::string(name_) + ":";
    if (!address.starts_with(prefix) || !decode(std::string_view(address).substr(prefix.size()), &addresses_[at])) {
      addresses_[at].clear();
      return fail(Errc::kOther, "\"%.100s\" was sent as the %s address of a process of another job", address.c_str(),
                  name_);
    }
    names_.add(proc);
    unwatched_.add(proc);
    return kOk;
  }

 protected:
  // `name`: a string that is never freed.
  NetworkTransport(const char* name, const Job& job, const Handlers& handlers)
      : name_(name),
        rank_(job.rank),
        late_(job.late),
        job_size_(static_cast<std::size_t>(job.size)),
        handlers_(handlers),
        names_(job),
        places_(name, job.size),
        peers_(job_size_) {
    enlarge_descriptor_table();
  }
  // A channel of `whole`, with peers and threads of its own.
  NetworkTransport(const NetworkTransport& whole, const Handlers& handlers)
      : name_(whole.name_),
        rank_(whole.rank_),
        late_(false),
        job_size_(whole.job_size_),
        handlers_(handlers),
        names_(whole.names_),
        places_(whole.name_, 0),
        peers_(job_size_),
        closing_(whole.closing_) {}

  virtual std::unique_ptr<Peer> make_peer(int proc, std::uint32_t own_name) = 0;
  [[nodiscard]] virtual Status why_failed(const Peer& peer) const = 0;
  // Makes the path to a process fail that cannot be connected to.
  virtual void fail_unreachable(Peer& peer) = 0;

  Peer& peer(int proc) {
    auto& entry = peers_[static_cast<std::size_t>(proc)];
    if (entry == nullptr) [[unlikely]]
      entry = make_peer(proc, names_.own_for(proc));
    return *entry;
  }
  // Returns the peer, or nullptr if it has not been created.
  [[nodiscard]] const Peer* find(int proc) const noexcept {
    const auto at = static_cast<std::size_t>(proc);
    return at < peers_.size() ? peers_[at].get() : nullptr;
  }
  [[nodiscard]] std::vector<Peer*> all_peers() const {
    std::vector<Peer*> all;
    for (const auto& each : peers_) {
      if (each != nullptr) all.push_back(each.get());
    }
    return all;
  }
  [[nodiscard]] bool is_of_job(int proc) const noexcept { return static_cast<std::size_t>(proc) < job_size_; }
  [[nodiscard]] Listens listens() const {
    // All hosts of a job with declared hosts are this machine (mpiexec --as-hosts).
    if (!late_ && boot::identity().declared_hosts) return Listens::kOnLoopback;
    // For processes of other jobs, or of this host without shared memory.
    const bool one_host = boot::processes().of_this_host().size() >= job_size_;
    return late_ || one_host ? Listens::kOnLoopbackIfAlone : Listens::kForOtherHosts;
  }

  // Publishes this process's address, and keeps it for processes of other jobs.
  Status publish(std::span<const std::byte> address) {
    own_address_ = std::string(name_) + ":" + encode(address);
    return late_ ? kOk : publish_address(name_, rank_, address, host_name());
  }
  // Gets the published address of a peer, and the name of its host.
  Status fetch_address(Peer& peer, std::vector<std::byte>* address) {
    if (is_of_job(peer.proc)) return places_.fetch(peer.proc, address, &peer.host);
    *address = addresses_[static_cast<std::size_t>(peer.proc)];
    return kOk;
  }

  // Connects, and returns the error of a path that has failed.
  Status usable(int proc) {
    HR_TRY(this->connect(proc));
    const Peer& to = peer(proc);
    return to.failure == 0 ? kOk : why_failed(to);
  }
  [[nodiscard]] Status no_room(const Peer& peer) const { return peer.told ? why_failed(peer) : Status::again(); }
  // Returns the place of a payload in the peer's reserved buffer, which `take` supplies if there is none of this
  // length; nullptr: no memory.
  template <class Buffers, class Take>
  std::byte* reserve_in(Peer& peer, std::size_t bytes, Buffers& buffers, Take&& take) {
    if (peer.reserved != nullptr && peer.reserved->room < bytes)
      buffers.give_back(std::exchange(peer.reserved, nullptr));
    if (peer.reserved == nullptr) peer.reserved = take(bytes);
    if (peer.reserved == nullptr) return nullptr;
    peer.reserved->bytes = bytes;
    return peer.reserved->payload();
  }

  // Notes that the path has failed; end_broken() of the transport then ends its operations. False if it had failed
  // before, or if processes may be closing their paths.
  template <class Failure>
  bool note_failure(Peer& peer, Failure failure) {
    if (closing_ || peer.failure != 0) return false;
    peer.failure = failure;
    peer.failed_at = now_seconds();
    broken_.push_back(&peer);
    return true;
  }
  void tell_failed() {
    failed_.tell(handlers_, [this](const Peer& peer) { return why_failed(peer); });
  }
  // True if no failure and no process of another job needs a round of progress.
  [[nodiscard]] bool has_settled() const noexcept { return failed_.empty() && broken_.empty() && unwatched_.empty(); }
  void watch_some() {
    unwatched_.take_some([this](int proc) {
      if (this->connect(proc).ok()) return;
      static_cast<void>(take_detail());
      fail_unreachable(peer(proc));
    });
  }

  // disconnect() sends all disconnects before it waits for any, as the other processes disconnect in an order of their
  // choice. Returns the peers that it concerns, connected unless their paths have failed.
  std::vector<Peer*> connect_to_disconnect(std::span<const int> procs) {
    std::vector<Peer*> peers;
    for (const int proc : procs) {
      if (is_of_job(proc) || !reaches(proc)) continue;
      if (!this->connect(proc).ok()) fail_unreachable(peer(proc));
      peers.push_back(&peer(proc));
    }
    return peers;
  }
  // Waits until done() is true of all peers whose paths have not failed.
  template <class Done>
  void wait_for(std::span<Peer* const> peers, Done&& done) {
    wait_until(*this, [&] {
      return std::ranges::all_of(peers, [&](const Peer* each) { return each->failure != 0 || done(*each); });
    });
  }
  // Forgets everything in this class about a process of another job but the peer itself.
  template <class Buffers>
  void forget_state(Peer& peer, Buffers& buffers) {
    std::erase(broken_, &peer);
    failed_.forget(&peer);
    unwatched_.forget(peer.proc);
    if (peer.reserved != nullptr) buffers.give_back(std::exchange(peer.reserved, nullptr));
    addresses_[static_cast<std::size_t>(peer.proc)].clear();
    names_.remove(peer.proc);
  }

  const char* const name_;
  const int rank_;
  const bool late_;  // created only by this process of the job, for processes of other jobs
  const std::size_t job_size_;
  const Handlers& handlers_;
  Names names_;
  Addresses places_;
  Sleepers sleepers_;
  std::vector<std::unique_ptr<Peer>> peers_;  // indexed by process
  Unwatched unwatched_;
  std::vector<Peer*> broken_;  // failed peers with operations that have not ended yet
  FailedPaths<Peer> failed_;   // not reported yet
  bool closing_ = false;       // other processes may be closing their paths already

 private:
  std::string own_address_;
  std::vector<std::vector<std::byte>> addresses_;  // indexed by process; only for those of other jobs
};

}  // namespace hr::transport::network

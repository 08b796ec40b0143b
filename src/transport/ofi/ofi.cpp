#include "transport/ofi/ofi.hpp"

#include <rdma/fi_rma.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/dropped.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"
#include "transport/network/address.hpp"
#include "transport/network/buffers.hpp"
#include "transport/network/eager.hpp"
#include "transport/network/inbox.hpp"
#include "transport/network/names.hpp"
#include "transport/network/sleepers.hpp"
#include "transport/network/unavailable.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/greeting.hpp"
#include "transport/ofi/memory.hpp"
#include "transport/ofi/piece.hpp"
#include "transport/ofi/probe.hpp"
#include "transport/ofi/requests.hpp"

namespace hr::transport::ofi {
namespace {

using network::Head;
using network::kMaxPayload;
using network::kMostRtsPayload;

// The word in front of every message.
enum class Front : std::uint64_t {
  kMessage = 1,
  kReadyToSend,  // Tail follows the payload
  kEnd,          // the first word of the header names a Source, whose data was received or declined
  kDisconnect,   // the sender sends nothing after it; its number counts
  kPing,         // says nothing
  kAsk,          // the sender sends nothing else before it has heard of the receiver
  kAnswer,
};

// End of a ready-to-send message: the data at its sender.
struct Tail {
  std::uint64_t source;
  std::uint64_t key;
  std::uint64_t address;
  std::uint64_t bytes;
};

constexpr std::size_t kFront = sizeof(Front) + sizeof(Head);
constexpr std::size_t kMostOnStack = 256;
// Limit of messages to a peer that the provider is not done with; further ones wait in the layer above.
constexpr int kMostInFlight = 32;
// Limit of messages begun since the last round of progress. Without rounds a provider notices no loss of a connection,
// and drops what it is given; a refusal makes the layer above begin one.
constexpr int kMostUnpolled = 256;
// Buffers that messages land in.
constexpr std::size_t kLandings = 3;
constexpr std::size_t kLandingBytes = std::size_t{512} << 10;
constexpr std::size_t kLeastLanding = kFront + kMaxPayload;
// Pieces of a message that are read at a time, in place and into memory to unpack from.
constexpr std::size_t kPiecesInPlace = 2;
constexpr std::size_t kPieceInPlace = std::size_t{8} << 20;
constexpr std::size_t kPiecesUnpacked = 2;
constexpr std::size_t kPieceUnpacked = std::size_t{256} << 10;

constexpr double kLaunchersTime = 1;  // as in ucx.cpp
constexpr double kFinalizeSleep = 200e-6;
constexpr double kTick = 0.25;      // seconds between looks at silent peers
constexpr double kStuckTime = 0.5;  // seconds of refusals before a peer is probed

class Ofi;

// The transport's part of a buffer.
struct Sending : Request {
  fid_ep* endpoint = nullptr;
  std::size_t most_injected = 0;  // longer messages, and those that must report, are sent with a completion
  network::Buffer<Sending>* whole = nullptr;
  Registration registration;
  Sending() = default;
  ~Sending() { Fabric::remove(&registration); }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
};
using Buffer = network::Buffer<Sending>;
ssize_t start_send(Request& self) {
  auto& sending = static_cast<Sending&>(self);
  Buffer& buffer = *sending.whole;
  const std::size_t bytes = kFront + buffer.bytes;
  if (bytes <= sending.most_injected) {
    const ssize_t answer = ::fi_inject(sending.endpoint, &buffer.wire, bytes, self.line->address);
    return answer == 0 ? kAtOnce : answer;
  }
  return ::fi_send(sending.endpoint, &buffer.wire, bytes, sending.registration.descriptor, self.line->address,
                   &self.room);
}

// A buffer that messages land in, one behind the other.
struct Landing {
  fi_context2 room{};  // must be first, as in Request
  std::unique_ptr<std::byte[]> memory;
  Registration registration;
};

// Another process; made at the first connect() to it, or the first send.
struct Peer : Line {
  Peer(Ofi& all, int process, std::uint32_t name) : owner(all), proc(process), own_name(name) {}
  Ofi& owner;
  int proc;
  std::uint32_t own_name;  // name of this process in messages to the peer
  network::Secret secret = 0;
  bool connected = false;
  bool heard = false;       // it has asked, or answered
  bool asking = false;      // a question has not left yet
  std::size_t at_once = 0;  // messages up to this length, with their head, are sent without a buffer
  Greeting greeting;
  std::vector<std::byte> place;  // its address, as libfabric has it
  std::string host;              // name of the peer's host; empty: not known, as for processes of other jobs
  std::size_t tuned_eager_bytes = 0;
  std::uint32_t sent = 0;  // number of messages sent; its low bits
  Buffer* reserved = nullptr;
  Probe probe;
  double probed_at = 0;
  bool pinging = false;
  double failed_at = 0;
  bool told = false;
};

// Data that this process sends, until the other side has fetched or declined it.
struct Source {
  Peer* peer;
  Operation* done;
  Registration registration;
};

// Data that another process keeps for this one.
struct Kept {
  int proc;
  Tail tail;
};

// Data that is being read from its sender.
struct Fetch {
  Peer& peer;
  Tail tail;
  Sink* into;
  Operation* done;  // null: the path has failed, and the operation has ended
  std::size_t next = 0;
  std::size_t pending = 0;
  int error = 0;
};

class Ofi final : public Transport {
 public:
  Ofi(const Job& job, const Handlers& handlers, const Library& library)
      : rank_(job.rank),
        late_(job.late),
        handlers_(handlers),
        library_(library),
        names_(job),
        fabric_(library),
        peers_(static_cast<std::size_t>(job.size)),
        job_size_(static_cast<std::size_t>(job.size)) {}
  ~Ofi() override;

  Status create();

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
  Status finalize() override;

 private:
  Peer& peer(int proc) {
    auto& entry = peers_[static_cast<std::size_t>(proc)];
    if (entry == nullptr) [[unlikely]]
      entry = std::make_unique<Peer>(*this, proc, names_.own_for(proc));
    return *entry;
  }
  // True if all hosts of this job are this machine (mpiexec --as-hosts).
  [[nodiscard]] bool listens_on_loopback() const { return boot::identity().declared_hosts && !late_; }
  [[nodiscard]] Status why_failed(const Peer& peer) const;
  [[nodiscard]] bool has_room(const Peer& peer) noexcept {
    return peer.in_flight < kMostInFlight && peer.failure == 0 && unpolled_++ < kMostUnpolled;
  }
  [[nodiscard]] Status no_room(const Peer& peer) const { return peer.told ? why_failed(peer) : Status::again(); }
  Status usable(int proc);
  Status move(int proc, const RemoteKey* key, std::span<const RemotePart> parts, bool write, Operation* done);
  // Finds the provider's address and the secret of a peer.
  Status address_of(Peer& peer);

  Buffer* buffer(std::size_t bytes);
  void post(Peer& peer, Buffer* buffer, Front front, bool must_report = false);
  // Sends a message of the transport's own: a word in the place of the header.
  void post_word(Peer& peer, Front front, std::uint32_t sequence, std::uint64_t word,
                 void (*done)(Request&, int) = nullptr, bool must_report = false);
  static void sent(Request& request, int error);

  void post_landings();
  void arrive(const std::byte* message, std::size_t bytes);
  void arrive_rts(const std::byte* message, std::size_t bytes);
  void end_source(int from, std::uint64_t number);
  void read_error();

  void go_on(Fetch* fetch);
  static void piece_done(Request& request, int error);

  void fail_path(Peer& peer, int error);
  void end_broken();
  void tell_failures();
  void tick();
  // Asks peers that have not been heard of, once it is time.
  void ask();
  void hear_of(int from);
  void look_at(Peer& peer, double now);

  // Makes progress until done() is true, yielding the core to others.
  template <class Done>
  void wait(Done&& done);
  void flush_some(std::span<Peer* const> peers);
  void forget(Peer& peer);

  int rank_;
  bool late_;  // made by this process of the job alone, for processes of other jobs
  const Handlers& handlers_;
  const Library& library_;
  network::Names names_;
  network::Inbox inbox_{names_, handlers_};
  Fabric fabric_;
  Requests requests_;
  Memory memory_{fabric_, requests_};
  network::Buffers<Sending> buffers_;
  network::Sleepers sleepers_;
  Cost cost_;
  std::vector<std::unique_ptr<Peer>> peers_;  // indexed by process
  std::size_t job_size_;
  std::vector<std::vector<std::byte>> addresses_;  // indexed by process; only for those of other jobs
  std::array<Landing, kLandings> landings_;
  std::vector<Landing*> unposted_;
  std::unordered_map<std::uint64_t, Source> sources_;  // indexed by number
  std::unordered_map<std::uint64_t, Kept> kept_;       // indexed by token
  std::vector<Fetch*> fetches_;                        // those not ended
  std::unordered_map<int, std::uint32_t> farewells_;   // numbers of messages that processes sent before disconnecting
  int unpolled_ = 0;                                   // messages begun since the last round of progress
  std::uint64_t next_source_ = 1;
  std::uint64_t next_token_ = 1;
  std::vector<Peer*> unheard_;  // messages to these wait
  std::vector<Peer*> broken_;   // failed, and operations not ended yet
  std::vector<Peer*> failed_;   // not reported yet
  double next_tick_ = 0;
  double next_ping_ = 0;
  std::string own_address_;
  bool closing_ = false;  // nothing more will be sent or received
  bool closed_ = false;
};

Ofi::~Ofi() {
  for (auto& each : peers_) {
    if (each != nullptr && each->reserved != nullptr) buffers_.give_back(each->reserved);
  }
  if (closed_) return;
  // The program ends without MPI_Finalize, or create() has failed.
  memory_.abandon();
  if (fabric_.endpoint() == nullptr) return;
  for (Landing& each : landings_) static_cast<void>(each.memory.release());  // the provider may still write there
  fabric_.abandon();
}

Status Ofi::create() {
  HR_TRY(names_.make_secret());
  HR_TRY(fabric_.open(listens_on_loopback(), kLeastLanding));
  cost_ = fabric_.is_kernel_network() ? Cost{15e-6, 2e9} : Cost{2e-6, 10e9};
  const fid_nic* const card = fabric_.info().nic;
  if (card != nullptr && card->link_attr != nullptr && card->link_attr->speed > 0) {
    cost_.bytes_per_second = static_cast<double>(card->link_attr->speed) / 8;
  }
  for (Landing& each : landings_) {
    each.memory = std::make_unique_for_overwrite<std::byte[]>(kLandingBytes);
    if (fabric_.registers_local()) HR_TRY(fabric_.add(each.memory.get(), kLandingBytes, FI_RECV, &each.registration));
    unposted_.push_back(&each);
  }
  post_landings();
  if (!unposted_.empty()) {
    return fail(Errc::kOther, "ofi: provider %s accepts no buffers for messages", fabric_.provider().c_str());
  }
  if (fabric_.descriptor() >= 0) HR_TRY(sleepers_.open(fabric_.descriptor()));
  // The address of a process: the provider's name and a zero, its address, and the secret.
  std::vector<std::byte> place;
  HR_TRY(fabric_.address(&place));
  const std::string provider = fabric_.provider();
  const auto name = std::as_bytes(std::span(provider.c_str(), provider.size() + 1));
  std::vector<std::byte> address(name.begin(), name.end());
  address.insert(address.end(), place.begin(), place.end());
  network::append_secret(names_.own_secret(), &address);
  own_address_ = "ofi:" + network::encode(address);
  return late_ ? kOk : network::publish_address("ofi", rank_, address, host_name());
}

// --- processes of other jobs ---

Status Ofi::describe(std::string* address) {
  *address = own_address_;
  return kOk;
}

Status Ofi::set_peer_address(int proc, const std::string& address) {
  const auto at = static_cast<std::size_t>(proc);
  peers_.resize(std::max(peers_.size(), at + 1));
  addresses_.resize(peers_.size());
  if (!address.starts_with("ofi:") || !network::decode(std::string_view(address).substr(4), &addresses_[at])) {
    addresses_[at].clear();
    return fail(Errc::kOther, "\"%.100s\" was sent as the libfabric address of a process of another job",
                address.c_str());
  }
  names_.add(proc);
  return kOk;
}

// Sends all disconnects before it waits for any, as the other processes disconnect in an order that they choose.
bool Ofi::disconnect(std::span<const int> procs) {
  std::vector<Peer*> disconnected;
  for (const int proc : procs) {
    if (static_cast<std::size_t>(proc) < job_size_ || !reaches(proc)) continue;
    if (!connect(proc).ok()) fail_path(peer(proc), FI_EHOSTUNREACH);
    disconnected.push_back(&peer(proc));
  }
  for (Peer* each : disconnected) {
    if (each->failure == 0) post_word(*each, Front::kDisconnect, each->sent, 0);
  }
  wait([&] {
    return std::ranges::all_of(disconnected, [this](const Peer* each) {
      const auto farewell = farewells_.find(each->proc);
      return each->failure != 0 || (farewell != farewells_.end() && inbox_.delivered(each->proc) == farewell->second);
    });
  });
  flush_some(disconnected);
  for (Peer* each : disconnected) forget(*each);
  return false;
}

void Ofi::forget(Peer& peer) {
  const int proc = peer.proc;
  if (peer.failure == 0) peer.failure = FI_ECONNRESET;  // in whatever way its operations end
  std::erase(broken_, &peer);
  std::erase(failed_, &peer);
  std::erase(unheard_, &peer);
  farewells_.erase(proc);
  std::erase_if(kept_, [proc](const auto& each) { return each.second.proc == proc; });
  if (peer.reserved != nullptr) buffers_.give_back(std::exchange(peer.reserved, nullptr));
  if (peer.connected) fabric_.remove_address(peer.address);
  auto& entry = peers_[static_cast<std::size_t>(proc)];
  // A request that the provider has not ended still refers to the peer.
  if (peer.in_flight != 0) static_cast<void>(entry.release());
  entry.reset();
  addresses_[static_cast<std::size_t>(proc)].clear();
  names_.remove(proc);
  inbox_.forget(proc);
}

// --- paths ---

Status Ofi::address_of(Peer& peer) {
  std::vector<std::byte> address;
  if (static_cast<std::size_t>(peer.proc) < job_size_) {
    HR_TRY(network::fetch_address("ofi", peer.proc, &address, &peer.host));
  } else {
    address = addresses_[static_cast<std::size_t>(peer.proc)];
  }
  const auto zero = std::ranges::find(address, std::byte{0});
  if (zero == address.end() || !network::split_secret(&address, &peer.secret)) {
    return fail(Errc::kOther, "ofi: the network address of rank %d is too short", peer.proc);
  }
  const auto length = static_cast<std::size_t>(std::ranges::find(address, std::byte{0}) - address.begin());
  const std::string_view its(reinterpret_cast<const char*>(address.data()), length);
  if (its != fabric_.provider() || address.size() <= length + 1) {
    return fail(Errc::kOther,
                "ofi: this process uses provider %s of libfabric, and rank %d (host %s) uses %.*s: set "
                "HEADRACE_OFI_PROVIDER to one that both hosts have",
                fabric_.provider().c_str(), peer.proc, peer.host.empty() ? "?" : peer.host.c_str(),
                static_cast<int>(its.size()), its.data());
  }
  peer.place.assign(address.begin() + static_cast<std::ptrdiff_t>(length) + 1, address.end());
  names_.set_secret(peer.proc, peer.secret);
  return kOk;
}

Status Ofi::connect(int proc) {
  Peer& to = peer(proc);
  if (to.connected || to.failure != 0) [[likely]]
    return kOk;
  HR_TRY(address_of(to));
  HR_TRY(fabric_.add_address(to.place, &to.address));
  to.connected = true;
  to.in_doubt = fabric_.may_lose_first_messages() && !to.heard;
  if (to.in_doubt) {
    unheard_.push_back(&to);
    ask();
  } else {
    to.at_once = std::min(kMostOnStack, fabric_.info().tx_attr->inject_size);
  }
  to.tuned_eager_bytes = network::tuned_eager_bytes(host_name(), to.host);
  log::write(log::Level::kDecision, "ofi: rank %d is reached by %s on %s; sent unasked: up to %zu bytes", proc,
             fabric_.provider().c_str(), fabric_.device().c_str(), caps(proc).eager_bytes);
  return kOk;
}

Status Ofi::why_failed(const Peer& peer) const {
  return fail(Errc::kOther, "the path to rank %d%s%s by the network (ofi, provider %s) has failed: %s", peer.proc,
              peer.host.empty() ? "" : " on host ", peer.host.c_str(), fabric_.provider().c_str(),
              library_.text(peer.failure).c_str());
}

Status Ofi::usable(int proc) {
  HR_TRY(connect(proc));
  const Peer& to = peer(proc);
  return to.failure == 0 ? kOk : why_failed(to);
}

void Ofi::fail_path(Peer& peer, int error) {
  if (closing_ || peer.failure != 0) return;
  peer.failure = error != 0 ? error : FI_EOTHER;
  peer.failed_at = now_seconds();
  broken_.push_back(&peer);
}

// Ends operations on broken paths; called within progress.
void Ofi::end_broken() {
  for (Peer* const broken : std::exchange(broken_, {})) {
    std::erase(unheard_, broken);
    requests_.release(*broken);
    if (broken->connected) fabric_.remove_address(broken->address);
    std::vector<std::pair<Operation*, Registration>> ended;
    for (auto each = sources_.begin(); each != sources_.end();) {
      if (each->second.peer != broken) {
        ++each;
        continue;
      }
      ended.emplace_back(each->second.done, each->second.registration);
      each = sources_.erase(each);
    }
    std::vector<Operation*> fetched;
    for (Fetch* const each : fetches_) {
      if (&each->peer != broken) continue;
      each->error = broken->failure;
      fetched.push_back(std::exchange(each->done, nullptr));
    }
    failed_.push_back(broken);
    for (auto& [done, registration] : ended) {
      Fabric::remove(&registration);
      done->end(Errc::kOther);
    }
    for (Operation* const done : fetched) {
      if (done != nullptr) done->end(Errc::kOther);
    }
  }
}

void Ofi::tell_failures() {
  for (std::size_t i = 0; i < failed_.size();) {
    Peer& failed = *failed_[i];
    if (now_seconds() - failed.failed_at < kLaunchersTime) {
      ++i;
      continue;
    }
    failed_.erase(failed_.begin() + static_cast<std::ptrdiff_t>(i));
    failed.told = true;
    const Status why = why_failed(failed);
    if (handlers_.failed != nullptr) handlers_.failed(failed.proc, why);
  }
}

// A provider over TCP reports no loss of a connection on which nothing is being sent, and tries forever to connect to a
// process that has ended. So every peer gets a ping from time to time; one that is refused leads to a probe.
void Ofi::tick() {
  const double now = now_seconds();
  if (now < next_tick_) return;
  next_tick_ = now + kTick;
  const bool ping = now >= next_ping_;
  if (ping) next_ping_ = now + knobs().network_timeout / 4;
  for (auto& each : peers_) {
    if (each == nullptr || !each->connected || each->failure != 0) continue;
    look_at(*each, now);
    if (!ping || each->pinging || each->in_doubt || each->failure != 0 || closing_) continue;
    each->pinging = true;
    post_word(
        *each, Front::kPing, 0, 0,
        [](Request& request, int error) {
          static_cast<Peer*>(request.line)->pinging = false;
          sent(request, error);
        },
        true);
  }
}

void Ofi::ask() {
  const double now = now_seconds();
  for (Peer* const each : unheard_) {
    if (each->asking || each->failure != 0 || !each->greeting.due(now)) continue;
    each->asking = true;
    post_word(*each, Front::kAsk, 0, 0, [](Request& request, int error) {
      static_cast<Peer*>(request.line)->asking = false;
      sent(request, error);
    });
  }
}

void Ofi::hear_of(int from) {
  Peer& heard = peer(from);
  heard.heard = true;
  if (!heard.in_doubt) return;
  std::erase(unheard_, &heard);
  heard.at_once = std::min(kMostOnStack, fabric_.info().tx_attr->inject_size);
  requests_.release(heard);
}

void Ofi::look_at(Peer& peer, double now) {
  if (peer.probe.is_pending()) {
    int error = 0;
    if (peer.probe.answered(&error)) {
      if (error != 0) return fail_path(peer, error);
      peer.probed_at = now;
      if (peer.worked) peer.stuck_since = now;  // it listens, and makes no progress
    } else if (now - peer.probed_at > knobs().network_timeout) {
      return fail_path(peer, FI_ETIMEDOUT);
    }
    return;
  }
  if (peer.stuck_since == 0 || now - peer.stuck_since < kStuckTime) return;
  if (!peer.worked && now - peer.stuck_since > knobs().network_timeout) return fail_path(peer, FI_ETIMEDOUT);
  if (now - peer.probed_at < 1) return;
  peer.probed_at = now;
  static_cast<void>(peer.probe.begin(peer.place));
}

// --- sending ---

Buffer* Ofi::buffer(std::size_t bytes) {
  Buffer* const taken = buffers_.take(bytes);
  if (taken == nullptr) return nullptr;
  Sending& own = taken->own;
  if (own.endpoint == nullptr) {
    own.endpoint = fabric_.endpoint();
    own.start = start_send;
    own.whole = taken;
    if (fabric_.registers_local() &&
        !fabric_.add(&taken->wire, kFront + taken->room, FI_SEND, &own.registration).ok()) {
      static_cast<void>(take_detail());
      own.endpoint = nullptr;
      buffers_.give_back(taken);
      return nullptr;
    }
  }
  taken->bytes = bytes;
  return taken;
}

std::byte* Ofi::reserve(int proc, std::size_t bytes) {
  Peer& to = peer(proc);
  if (bytes > kMaxPayload || !has_room(to)) return nullptr;
  if (to.reserved != nullptr && to.reserved->room < bytes) {
    buffers_.give_back(to.reserved);
    to.reserved = nullptr;
  }
  if (to.reserved == nullptr) to.reserved = buffer(bytes);
  if (to.reserved == nullptr) return nullptr;
  to.reserved->bytes = bytes;
  return to.reserved->payload();
}

void Ofi::commit(int proc, const Header& header) {
  Peer& to = peer(proc);
  Buffer* const buffer = std::exchange(to.reserved, nullptr);
  buffer->wire.head = {to.sent++, to.own_name, to.secret, header};
  post(to, buffer, Front::kMessage);
}

Status Ofi::send(int proc, const Header& header, const void* payload, std::size_t bytes) {
  Peer& to = peer(proc);
  const std::size_t whole = kFront + bytes;
  if (whole <= to.at_once) {
    if (!has_room(to)) return no_room(to);
    std::byte message[kMostOnStack];
    const Front front = Front::kMessage;
    const Head head{to.sent, to.own_name, to.secret, header};
    std::memcpy(message, &front, sizeof front);
    std::memcpy(message + sizeof front, &head, sizeof head);
    if (bytes != 0) std::memcpy(message + kFront, payload, bytes);
    const ssize_t answer = ::fi_inject(fabric_.endpoint(), message, whole, to.address);
    if (answer == 0) [[likely]] {
      to.accepted();
      ++to.sent;
      return kOk;
    }
    answer == -FI_EAGAIN ? to.refused() : fail_path(to, static_cast<int>(-answer));
    return Status::again();
  }
  std::byte* const slot = reserve(proc, bytes);
  if (slot == nullptr) return no_room(to);
  std::memcpy(slot, payload, bytes);
  commit(proc, header);
  return kOk;
}

void Ofi::post(Peer& peer, Buffer* buffer, Front front, bool must_report) {
  buffer->wire.front = static_cast<std::uint64_t>(front);
  buffer->own.line = &peer;
  buffer->own.is_greeting = front == Front::kAsk;
  buffer->own.most_injected = must_report ? 0 : fabric_.info().tx_attr->inject_size;
  if (buffer->own.done == nullptr) buffer->own.done = sent;
  requests_.begin(buffer->own);
}

void Ofi::post_word(Peer& peer, Front front, std::uint32_t sequence, std::uint64_t word, void (*done)(Request&, int),
                    bool must_report) {
  Buffer* const made = buffer(0);
  if (made == nullptr) return;  // without memory even for that, the program is about to end
  made->wire.head = {sequence, peer.own_name, peer.secret, Header{{word, 0, 0}}};
  made->own.done = done;
  post(peer, made, front, must_report);
}

void Ofi::sent(Request& request, int error) {
  Buffer& buffer = *static_cast<Sending&>(request).whole;
  auto& to = static_cast<Peer&>(*request.line);
  request.done = nullptr;
  to.owner.buffers_.give_back(&buffer);
  if (error != 0) to.owner.fail_path(to, error);
}

// --- rendezvous ---

// Does not limit the number of pending rendezvous, as the other side may receive the last one first.
Status Ofi::send_rts(int proc, const Header& header, const void* payload, std::size_t payload_bytes,
                     const transport::Source& data, Operation* done) {
  Peer& to = peer(proc);
  if (payload_bytes > kMostRtsPayload || data.device) return Errc::kUnsupportedOperation;
  if (to.failure != 0) return no_room(to);
  Buffer* const message = buffer(payload_bytes + sizeof(Tail));
  if (message == nullptr) return Status::again();
  Source source{&to, done, {}};
  if (const Status added =
          fabric_.add(const_cast<std::byte*>(data.address), data.bytes, FI_REMOTE_READ, &source.registration);
      !added.ok()) {
    // Memory that cannot be registered is sent in messages.
    static_cast<void>(take_detail());
    buffers_.give_back(message);
    return Errc::kUnsupportedOperation;
  }
  const std::uint64_t number = next_source_++;
  const Tail tail{number, source.registration.key, source.registration.base, data.bytes};
  if (payload_bytes != 0) std::memcpy(message->payload(), payload, payload_bytes);
  std::memcpy(message->payload() + payload_bytes, &tail, sizeof tail);
  message->wire.head = {to.sent++, to.own_name, to.secret, header};
  sources_.emplace(number, source);
  done->complete = false;
  post(to, message, Front::kReadyToSend);
  return kOk;
}

void Ofi::end_source(int from, std::uint64_t number) {
  const auto found = sources_.find(number);
  if (found == sources_.end() || found->second.peer->proc != from) {
    drop_message(from, "it ends a rendezvous that is not pending");
    return;
  }
  Source ended = found->second;
  sources_.erase(found);
  Fabric::remove(&ended.registration);
  ended.done->end(kOk);
}

Status Ofi::receive_rendezvous(int proc, RendezvousData data, Sink* into, Operation* done) {
  const auto found = kept_.find(data.token);
  if (!inbox_.release(data.token) || found == kept_.end() || found->second.proc != proc)
    return fail(Errc::kOther, "ofi: data of no rendezvous");
  const Tail tail = found->second.tail;
  kept_.erase(found);
  if (tail.bytes < into->bytes) {
    return fail(Errc::kOther, "ofi: rank %d offers %zu bytes of data, and its message has %zu", proc,
                static_cast<std::size_t>(tail.bytes), into->bytes);
  }
  HR_TRY(usable(proc));
  auto* const fetch = new Fetch{peer(proc), tail, into, done};
  fetches_.push_back(fetch);
  go_on(fetch);
  return kOk;
}

void Ofi::decline_rendezvous(int proc, RendezvousData data) noexcept {
  const auto found = kept_.find(data.token);
  if (!inbox_.release(data.token) || found == kept_.end()) return;
  const std::uint64_t source = found->second.tail.source;
  kept_.erase(found);
  if (usable(proc).ok()) {
    post_word(peer(proc), Front::kEnd, 0, source);
  } else {
    static_cast<void>(take_detail());
  }
}

// Starts as many pieces as may be pending.
void Ofi::go_on(Fetch* fetch) {
  const bool unpacks = fetch->into->unpack != nullptr;
  const std::size_t most = unpacks ? kPiecesUnpacked : kPiecesInPlace;
  while (fetch->error == 0 && fetch->next < fetch->into->bytes && fetch->pending < most) {
    auto piece = std::make_unique<Piece>();
    piece->whole = fetch;
    piece->offset = fetch->next;
    piece->bytes = std::min(fetch->into->bytes - fetch->next, unpacks ? kPieceUnpacked : kPieceInPlace);
    if (unpacks) piece->bounce = std::make_unique_for_overwrite<std::byte[]>(piece->bytes);
    piece->local = unpacks ? piece->bounce.get() : fetch->into->address + fetch->next;
    piece->remote = fetch->tail.address + fetch->next;
    piece->key = fetch->tail.key;
    piece->done = piece_done;
    if (!piece->prepare(fabric_, fetch->peer).ok()) {
      static_cast<void>(take_detail());
      fail_path(fetch->peer, FI_ENOMEM);
      return;
    }
    fetch->next += piece->bytes;
    ++fetch->pending;
    requests_.begin(*piece.release());  // piece_done() deletes it
  }
}

void Ofi::piece_done(Request& request, int error) {
  const std::unique_ptr<Piece> piece(static_cast<Piece*>(&request));
  auto* const fetch = static_cast<Fetch*>(piece->whole);
  Ofi& self = fetch->peer.owner;
  --fetch->pending;
  if (error != 0) {
    fetch->error = error;
    self.fail_path(fetch->peer, error);  // ends the operation
  }
  if (fetch->error == 0) {
    if (fetch->into->unpack != nullptr) {
      fetch->into->unpack(*fetch->into, piece->offset, piece->local, piece->bytes);
    }
    self.go_on(fetch);
  }
  if (fetch->pending != 0 || (fetch->error != 0 && fetch->done != nullptr && !self.closing_)) return;
  std::erase(self.fetches_, fetch);
  const std::unique_ptr<Fetch> ended(fetch);
  if (ended->error == 0) self.post_word(ended->peer, Front::kEnd, 0, ended->tail.source);
  if (ended->done != nullptr) ended->done->end(ended->error == 0 ? kOk : Status(Errc::kOther));
}

// --- memory of others ---

Status Ofi::move(int proc, const RemoteKey* key, std::span<const RemotePart> parts, bool write, Operation* done) {
  if (key == nullptr) return Errc::kUnsupportedOperation;
  HR_TRY(usable(proc));
  return memory_.move(proc, peer(proc), *key, parts, write, done);
}

// --- receiving ---

void Ofi::post_landings() {
  while (!unposted_.empty()) {
    Landing& each = *unposted_.back();
    const iovec room{each.memory.get(), kLandingBytes};
    void* descriptors[] = {each.registration.descriptor};
    fi_msg message{};
    message.msg_iov = &room;
    message.desc = descriptors;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = &each.room;
    if (::fi_recvmsg(fabric_.endpoint(), &message, FI_MULTI_RECV) != 0) return;
    unposted_.pop_back();
  }
}

void Ofi::arrive(const std::byte* message, std::size_t bytes) {
  if (bytes < kFront || bytes > kFront + kMaxPayload) [[unlikely]] {
    drop_message(-1, "it is shorter than its head, or longer than any message");
    return;
  }
  Front front;
  std::memcpy(&front, message, sizeof front);
  message += sizeof front;
  bytes -= sizeof front;
  if (front == Front::kMessage) [[likely]] {
    static_cast<void>(inbox_.take(message, bytes, 0));
    return;
  }
  if (front == Front::kReadyToSend) return arrive_rts(message, bytes);
  Head head;
  std::memcpy(&head, message, sizeof head);
  const int from = names_.proc_of(head.from, head.secret);
  if (from < 0) return drop_message(-1, network::kUnknownSender);
  switch (front) {
    case Front::kEnd:
      return end_source(from, head.header.words[0]);
    case Front::kDisconnect:
      farewells_[from] = head.sequence;
      return;
    case Front::kPing:
      return;
    case Front::kAsk:
      hear_of(from);
      if (!connect(from).ok()) return static_cast<void>(take_detail());
      return post_word(peer(from), Front::kAnswer, 0, 0);
    case Front::kAnswer:
      return hear_of(from);
    default:
      return drop_message(from, "its first word is none of this library's");
  }
}

void Ofi::arrive_rts(const std::byte* message, std::size_t bytes) {
  if (bytes < sizeof(Head) + sizeof(Tail)) return drop_message(-1, "a ready-to-send message without its end");
  Head head;
  Kept kept;
  bytes -= sizeof(Tail);
  std::memcpy(&head, message, sizeof head);
  std::memcpy(&kept.tail, message + bytes, sizeof kept.tail);
  kept.proc = names_.proc_of(head.from, head.secret);
  if (kept.proc < 0) return drop_message(-1, network::kUnknownSender);
  const std::uint64_t token = next_token_++;
  kept_.emplace(token, kept);
  if (!inbox_.take(message, bytes, token)) kept_.erase(token);
}

void Ofi::read_error() {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(fabric_.queue(), &error, 0) <= 0) return;
  const auto landing =
      std::ranges::find_if(landings_, [&](const Landing& each) { return &each.room == error.op_context; });
  if (landing != landings_.end()) {
    const bool released = error.err == FI_ETRUNC && fabric_.releases_truncated();
    if ((error.flags & FI_MULTI_RECV) != 0 || released) unposted_.push_back(&*landing);
    if (error.err == FI_ETRUNC) drop_message(-1, "it is longer than any message");
    return;
  }
  if (error.op_context != nullptr) Requests::end(*static_cast<Request*>(error.op_context), error.err);
}

bool Ofi::progress() {
  unpolled_ = 0;
  std::array<fi_cq_data_entry, 16> entries;
  const ssize_t count = ::fi_cq_read(fabric_.queue(), entries.data(), entries.size());
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
    // The end of a buffer may be reported alone, without a receive.
    if ((entry.flags & (FI_RECV | FI_MULTI_RECV)) != 0) {
      if ((entry.flags & FI_RECV) != 0 && entry.len != 0) arrive(static_cast<const std::byte*>(entry.buf), entry.len);
      if ((entry.flags & FI_MULTI_RECV) != 0) unposted_.push_back(static_cast<Landing*>(entry.op_context));
    } else if (entry.op_context != nullptr) {
      Requests::end(*static_cast<Request*>(entry.op_context), 0);
    }
  }
  if (count == -FI_EAVAIL) [[unlikely]]
    read_error();
  if (!unposted_.empty()) [[unlikely]]
    post_landings();
  if (!requests_.idle()) [[unlikely]]
    requests_.retry();
  if (!unheard_.empty()) [[unlikely]]
    ask();
  if (count <= 0) tick();
  if (!broken_.empty()) [[unlikely]]
    end_broken();
  if (!failed_.empty()) [[unlikely]]
    tell_failures();
  return count > 0 || count == -FI_EAVAIL;
}

std::optional<std::uint32_t> Ofi::arm() {
  const auto bell = sleepers_.arm();
  if (!bell || arm_arrivals()) return bell;
  sleepers_.disarm(*bell);
  return std::nullopt;
}

bool Ofi::arm_arrivals() {
  return failed_.empty() && broken_.empty() && requests_.idle() && unposted_.empty() && fabric_.arm();
}

// --- the end ---

template <class Done>
void Ofi::wait(Done&& done) {
  while (!done()) {
    if (progress()) continue;
    ::sched_yield();
    if (progress() || !can_sleep()) continue;
    if (const auto armed = arm()) sleep(*armed, kFinalizeSleep);
  }
}

// An injected message is reported by nothing; one sent after it with a report tells that it has left, too.
void Ofi::flush_some(std::span<Peer* const> peers) {
  for (Peer* each : peers) {
    if (!each->connected || each->failure != 0 || !each->worked || (each->in_doubt && each->held.empty())) continue;
    post_word(*each, Front::kPing, 0, 0, sent, true);
  }
  wait([&] {
    return std::ranges::all_of(peers, [](const Peer* each) { return each->in_flight == 0 || each->failure != 0; });
  });
}

// If a process closed its endpoint while others still send, their messages would be lost. So all processes flush, then
// wait for one another, and continue to receive meanwhile.
Status Ofi::finalize() {
  std::vector<Peer*> all;
  for (auto& each : peers_) {
    if (each != nullptr) all.push_back(each.get());
  }
  flush_some(all);
  closing_ = true;  // faster processes close already
  Status status = kOk;
  if (!late_) {
    HR_TRY(boot::begin_fence());
    bool everybody = false;
    wait([&] {
      status = boot::fence_done(&everybody);
      return everybody || !status.ok();
    });
  }
  memory_.close();
  for (auto& [number, source] : sources_) Fabric::remove(&source.registration);
  for (Peer* each : all) {
    if (each->reserved != nullptr) buffers_.give_back(std::exchange(each->reserved, nullptr));
    // A request that the provider has not ended still refers to the peer.
    if (each->in_flight != 0) static_cast<void>(peers_[static_cast<std::size_t>(each->proc)].release());
  }
  for (Landing& each : landings_) Fabric::remove(&each.registration);
  buffers_.clear();
  fabric_.close();
  closed_ = true;
  return status;
}

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  const Settings settings;
  const Library* library = nullptr;
  Status status = open_library(&library);
  std::unique_ptr<Ofi> made;
  if (status.ok()) {
    made = std::make_unique<Ofi>(job, handlers, *library);
    status = made->create();
  }
  if (status.ok()) {
    *out = std::move(made);
  } else {
    *out = std::make_unique<network::Unavailable>("ofi", take_detail());
  }
  return kOk;
}

bool can_open() {
  const Settings settings;
  const Library* library = nullptr;
  if (open_library(&library).ok()) return true;
  static_cast<void>(take_detail());
  return false;
}

}  // namespace

const Record kRecord{"ofi", create, true, nullptr, can_open, host_has_own_network};

}  // namespace hr::transport::ofi

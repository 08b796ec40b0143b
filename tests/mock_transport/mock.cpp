#include "mock_transport/mock.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.hpp"

namespace hr::transport::mock {
namespace {

// Networks of the first and the second transport; owned by those transports.
Network* networks[2]{};
Caps next_caps{.inline_bytes = 64,
               .max_payload = std::size_t{64} << 10,
               .chunk_bytes = std::size_t{16} << 10,
               .latency_seconds = 1e-6,
               .bytes_per_second = 1e9};

std::optional<Caps> next_second_caps;

struct Exposed {
  std::uint64_t address;
  std::uint64_t bytes;
};

Status check(const RemoteKey& key, std::uint64_t address, std::size_t bytes) {
  Exposed exposed;
  if (key.bytes != sizeof exposed) return fail(Errc::kOther, "mock: no key of this transport");
  std::memcpy(&exposed, key.data, sizeof exposed);
  if (address >= exposed.address && address + bytes <= exposed.address + exposed.bytes) return kOk;
  return fail(Errc::kOther, "mock: %zu bytes at %#llx lie outside of what is exposed", bytes,
              static_cast<unsigned long long>(address));
}

}  // namespace

class Mock final : public Transport {
 public:
  Mock(const Job& job, const Handlers& handlers, bool second, const Caps& caps)
      : second_(second), rank_(job.rank), size_(job.size), caps_(caps), network_(handlers, job.rank) {
    networks[second] = &network_;
  }
  ~Mock() override { networks[second_] = nullptr; }

  [[nodiscard]] std::string_view name() const noexcept override { return second_ ? "second mock" : "mock"; }
  [[nodiscard]] bool reaches(int proc) const noexcept override { return proc != rank_ && proc < size_; }
  [[nodiscard]] Caps caps(int /*proc*/) const noexcept override { return caps_; }
  Status connect(int proc) override {
    ++network_.connections_[proc];
    return kOk;
  }

  Status send(int proc, const Header& header, const void* payload, std::size_t bytes) override {
    HR_TRY(network_.accept(proc));
    keep(proc, {header, {static_cast<const std::byte*>(payload), static_cast<const std::byte*>(payload) + bytes}});
    return kOk;
  }
  std::byte* reserve(int proc, std::size_t bytes) override {
    if (!network_.accept(proc).ok()) return nullptr;
    reserved_.payload.assign(bytes, std::byte{0});
    return reserved_.payload.data();
  }
  void commit(int proc, const Header& header) override {
    reserved_.header = header;
    keep(proc, std::exchange(reserved_, {}));
  }
  [[nodiscard]] bool has_left(int proc) const noexcept override {
    const auto found = network_.peers_.find(proc);
    return found != network_.peers_.end() && found->second.left;
  }
  bool progress() override {
    ++network_.rounds_;
    bool moved = network_.report_gone();
    moved |= network_.complete_operations();
    return network_.deliver() || moved;
  }

  [[nodiscard]] bool may_expose() const noexcept override { return caps_.exposed_memory; }
  Status expose(std::byte* address, std::size_t bytes, RemoteKey* key) override {
    *key = Network::key_of(address, bytes);
    return kOk;
  }
  Status get(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override {
    return copy(Network::Pending::Kind::kGet, proc, key, parts, done);
  }
  Status put(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override {
    return copy(Network::Pending::Kind::kPut, proc, key, parts, done);
  }
  Status flush(int proc, Operation* done) override {
    HR_TRY(network_.gone(proc, network_.peers_[proc]));
    network_.start({Network::Pending::Kind::kFlush, proc, {}, done, {}});
    return kOk;
  }

  Status finalize() override { return kOk; }

 private:
  void keep(int proc, Message message) {
    Network::Peer& peer = network_.peers_[proc];
    if (peer.drops != 0) {
      if (peer.drops != kForEver) --peer.drops;
    } else if (!peer.gone_at) {
      peer.going.push_back(std::move(message));
    }
  }
  Status copy(Network::Pending::Kind kind, int proc, const RemoteKey* key, std::span<const RemotePart> parts,
              Operation* done) {
    HR_TRY(network_.gone(proc, network_.peers_[proc]));
    if (key == nullptr && (network_.refuses_memory_ || !caps_.remote_read)) return Errc::kUnsupportedOperation;
    for (const RemotePart& part : parts) {
      if (key != nullptr) HR_TRY(check(*key, part.address, part.bytes));
    }
    ++network_.copies_;
    Network::Pending operation{kind, proc, {parts.begin(), parts.end()}, done, {}};
    if (done == nullptr) {
      network_.execute(operation);
      if (network_.copy_seconds_ > 0) {
        const double end = now_seconds() + network_.copy_seconds_;
        while (now_seconds() < end) spin_pause();
      }
    } else {
      network_.start(std::move(operation));
    }
    return kOk;
  }

  bool second_;
  int rank_;
  int size_;
  Caps caps_;
  Network network_;
  Message reserved_;
};

void Network::send_from(int proc, const Header& header, const void* payload, std::size_t bytes) {
  const auto* data = static_cast<const std::byte*>(payload);
  Peer& peer = peers_[proc];
  if (!peer.gone_at) peer.coming.push_back({sent_++, {header, {data, data + bytes}}});
}

std::optional<Message> Network::take(int proc) {
  auto& going = peers_[proc].going;
  if (going.empty()) return std::nullopt;
  Message message = std::move(going.front());
  going.pop_front();
  return message;
}

std::size_t Network::waiting(int proc) const {
  const auto found = peers_.find(proc);
  return found == peers_.end() ? 0 : found->second.going.size();
}

unsigned Network::connections(int proc) const {
  const auto found = connections_.find(proc);
  return found == connections_.end() ? 0 : found->second;
}

RemoteKey Network::key_of(const void* address, std::size_t bytes) noexcept {
  const Exposed exposed{reinterpret_cast<std::uint64_t>(address), bytes};
  RemoteKey key;
  key.bytes = sizeof exposed;
  std::memcpy(key.data, &exposed, sizeof exposed);
  return key;
}

void Network::vanish(int proc, unsigned rounds) {
  Peer& peer = peers_[proc];
  peer.coming.clear();
  peer.gone_at = rounds_ + rounds;
}

// Returns an error once the failure of that process has been reported.
Status Network::gone(int proc, const Peer& peer) {
  return peer.reported ? fail(Errc::kOther, "mock: process %d has vanished", proc) : kOk;
}

// Accepts a message to that process, or reports its injected fault.
Status Network::accept(int proc) {
  Peer& peer = peers_[proc];
  HR_TRY(gone(proc, peer));
  if (std::exchange(peer.fails, false)) {
    peer.gone_at = rounds_;
    peer.coming.clear();
    peer.reported = true;
    handlers_.failed(proc, gone(proc, peer));
    return gone(proc, peer);
  }
  if (peer.refuses == 0) return kOk;
  if (peer.refuses != kForEver) --peer.refuses;
  return Status::again();
}

bool Network::deliver() {
  Peer* next = nullptr;
  int from = -1;
  for (auto& [proc, peer] : peers_) {
    if (peer.held || peer.coming.empty()) continue;
    const bool first = next == nullptr || (peer.overtakes && !next->overtakes) ||
                       (peer.overtakes == next->overtakes && peer.coming.front().number < next->coming.front().number);
    if (!first) continue;
    next = &peer;
    from = proc;
  }
  if (next == nullptr) return false;
  const Message message = std::move(next->coming.front().message);
  next->coming.pop_front();
  handlers_.of_kind[kind_of(message.header)](from, message.header, message.payload.data(), message.payload.size());
  return true;
}

bool Network::report_gone() {
  bool moved = false;
  for (auto& [proc, peer] : peers_) {
    if (!peer.gone_at || peer.reported || rounds_ < *peer.gone_at) continue;
    peer.reported = true;
    moved = true;
    std::deque<Pending> left;
    for (Pending& each : std::exchange(operations_, {})) {
      each.proc == proc ? each.done->end(gone(proc, peer)) : left.push_back(std::move(each));
    }
    for (Pending& each : left) operations_.push_back(std::move(each));
    handlers_.failed(proc, gone(proc, peer));
  }
  return moved;
}

void Network::start(Pending operation) {
  *operation.done = {};
  if (rounds_to_complete_ != kForEver) operation.at = rounds_ + rounds_to_complete_;
  operations_.push_back(std::move(operation));
}

// Completes operations in the order in which they were started, so that a flush completes after those that it waits
// for.
bool Network::complete_operations() {
  bool moved = false;
  while (!operations_.empty()) {
    Pending& first = operations_.front();
    if (!first.at && rounds_to_complete_ != kForEver) first.at = rounds_ + rounds_to_complete_;
    if (!first.at || rounds_ < *first.at) break;
    const Pending operation = std::move(first);
    operations_.pop_front();
    execute(operation);
    operation.done->end(kOk);
    moved = true;
  }
  return moved;
}

void Network::execute(const Pending& operation) {
  for (const RemotePart& part : operation.parts) {
    auto* const remote = reinterpret_cast<std::byte*>(part.address);
    switch (operation.kind) {
      case Pending::Kind::kGet:
        std::memcpy(part.local, remote, part.bytes);
        break;
      case Pending::Kind::kPut:
        std::memcpy(remote, part.local, part.bytes);
        break;
      case Pending::Kind::kFlush:
        break;
    }
  }
}

Network* network() noexcept { return networks[0]; }
void set_caps(const Caps& caps) noexcept { next_caps = caps; }
Network* second_network() noexcept { return networks[1]; }
void set_second_caps(const std::optional<Caps>& caps) noexcept { next_second_caps = caps; }

namespace {

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  if (job.size > 1) *out = std::make_unique<Mock>(job, handlers, false, next_caps);
  return kOk;
}

Status create_second(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  if (job.size > 1 && next_second_caps) *out = std::make_unique<Mock>(job, handlers, true, *next_second_caps);
  return kOk;
}

}  // namespace

const Record kRecord{"mock", create};
const Record kSecondRecord{"mock2", create_second};

}  // namespace hr::transport::mock

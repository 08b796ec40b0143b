#include "transport/shm/shm.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/buffered.hpp"
#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/last_cache.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/relaxed.hpp"
#include "boot/boot.hpp"
#include "transport/shm/presence.hpp"
#include "transport/shm/remote.hpp"
#include "transport/shm/segment.hpp"

namespace hr::transport::shm {
namespace {

// A ring gets the rest of its memory when first needed, so that a pair that exchanges little data uses little memory,
// and its first message is sent soon. Every page of fresh memory takes time, so with many processes, a ring begins as
// one page.
constexpr int kFewProcesses = 16;
constexpr std::size_t kPage = 4096;
constexpr std::uint64_t first_cells_for(int processes) {
  return processes <= kFewProcesses ? kCells : (kPage - cells_footprint(0)) / sizeof(Cell);
}
constexpr std::size_t first_bytes_for(int processes) { return processes <= kFewProcesses ? 16384 : 0; }
// Least payload space of a ring that has any: the rest of the cells' last page.
constexpr std::size_t kLeastPayload = kPage - sizeof(RingMemory) % kPage;
// Maximum number of processes on the node for rings to get their memory already in MPI_Init, where no message waits for
// it. With so few processes, all of them are assumed to exchange messages.
constexpr int kReserveAtOnce = 4;
// Number of messages delivered from one ring before the next ring gets its turn.
constexpr int kBatch = 8;
// Time for the launcher's report, in milliseconds; far more than it needs.
constexpr int kLaunchersTime = 1000;
constexpr int kMostWaitsForPid = 100;  // milliseconds
// A longer piece of a stream would leave the first-level cache before it is read.
constexpr std::size_t kMostChunk = std::size_t{32} * 1024;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
// Number of messages that a process sends, without a check for arrivals, before a burst is expected to continue.
constexpr unsigned kLone = 2;

std::uint64_t make_pid_probe() noexcept {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(::getpid());
  return number;
}
// Random number with which others recognise this process (Doorbell::pid_probe).
const std::uint64_t pid_probe = make_pid_probe();

// Key in the host's store whose value is the segment's number of channels, kAfterNumber and its name.
constexpr const char* kFile = "shm";
constexpr char kAfterNumber = ' ';
constexpr std::string_view kFailed = "failed: ";  // prefix of the reason, which is published instead of the name

// Returns the payload size of a ring: smaller with many ranks on the node, so that an all-to-all does not exhaust the
// memory.
std::size_t ring_bytes_for(int processes) {
  if (const std::size_t wanted = knobs().shm_ring_bytes; wanted != 0) return std::bit_floor(wanted);
  // Twice the size of a second-level cache, so that lines leave the reader's cache before they are written again (ADR
  // 15).
  if (processes <= 8 && is_amd()) return 2048 * 1024;
  if (processes <= 16) return 512 * 1024;
  return processes <= 64 ? 128 * 1024 : 64 * 1024;
}

// Returns the number of exchange buffers per pair: with many processes on the node, at most one, for messages of a few
// KiB.
int exchange_buffers_for(int processes) {
  const int wanted = static_cast<int>(knobs().shm_exchange_buffers);
  return processes <= 16 ? wanted : std::min(wanted, 1);
}

std::size_t staging_bytes() {
  return std::bit_floor(knobs().device_pipeline_chunk_bytes) * static_cast<std::size_t>(knobs().device_pipeline_chunks);
}

// Areas of channels occupy addresses, but no memory before their first use.
constexpr int kMostChannels = 32;
constexpr std::size_t kMostChannelBytes = std::size_t{1} << 30;

Segment::Sizes sizes_for(int processes) {
  Segment::Sizes sizes{processes, ring_bytes_for(processes), staging_bytes(), exchange_buffers_for(processes)};
  sizes.channel_payload_bytes = std::min(sizes.payload_bytes, std::size_t{processes <= 16 ? 128U : 32U} * 1024);
  const std::size_t most = std::min(Segment::bytes_of(sizes) + kMostChannelBytes, largest_file());
  const auto wanted = static_cast<int>(knobs().channels);
  sizes.channels = wanted == 0 ? kMostChannels : std::min(wanted - 1, kMostChannels);
  while (sizes.channels > 0 && Segment::bytes_of(sizes) > most) --sizes.channels;
  return sizes;
}

void allow_peer_access() {
  register_barrier();
  // The Yama security module lets only ancestors read a process's memory unless the process permits others.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

class alignas(kCacheLine) Shm : public Transport {
 public:
  // `here`: the processes of the segment, in the order that all of them use.
  Shm(const Job& job, const Handlers& handlers, std::span<const int> here)
      : message_handlers_(handlers.of_kind), handlers_(handlers), ranks_(here.begin(), here.end()) {
    local_of_.assign(static_cast<std::size_t>(job.processes.size()), -1);
    for (std::size_t index = 0; index < here.size(); ++index) {
      if (here[index] == job.rank) own_ = static_cast<int>(index);
      local_of_[static_cast<std::size_t>(here[index])] = static_cast<int>(index);
    }
    node_ = job.processes.host_of(job.rank);
    direct_ = processes() <= kDirectPollLimit;
  }

  // Transport of a channel.
  Shm(const Shm& whole, const Handlers& handlers)
      : message_handlers_(handlers.of_kind),
        handlers_(handlers),
        own_(whole.own_),
        direct_(whole.direct_),
        node_(whole.node_),
        ranks_(whole.ranks_),
        local_of_(whole.local_of_) {}

  // Creates the segment, in the first process on the node, and publishes its name to the others.
  void create(const Job& job);
  Status open() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "shm"; }
  [[nodiscard]] bool reaches(int proc) const noexcept override {
    return static_cast<std::size_t>(proc) < local_of_.size() && local(proc) >= 0;
  }
  [[nodiscard]] Caps caps(int proc) const noexcept override {
    const auto peer = static_cast<std::size_t>(local(proc));
    const std::size_t tuned = peer < outgoing_.size() ? outgoing_[peer].eager_bytes : 0;
    const std::size_t most = peer < outgoing_.size() ? std::size_t{outgoing_[peer].most} : kNoLimit;
    return {.inline_bytes = kInlineBytes,
            .max_payload = std::min(segment_.payload_bytes() / 2, most),
            .chunk_bytes = std::min({segment_.payload_bytes() / 16, kMostChunk, most}),
            .eager_bytes = std::min(tuned, most),
            .remote_read = knobs().shm_single_copy != ShmSingleCopyChoice::kOff,
            .same_node = true,
            .same_address_space = false,
            .latency_seconds = 150e-9,
            .bytes_per_second = 8e9,
            .host_memory = {0.8e-6, 20e9}};
  }

  Status connect(int proc) override;
  Status send(int proc, const Header& header, const void* payload, std::size_t bytes) override {
    Outgoing& to = outgoing_[static_cast<std::size_t>(local(proc))];
    if (!to.producer.send_short(header, payload, bytes)) [[unlikely]]
      return send_long(local(proc), header, payload, bytes);
    // A lone message must not bear the cost of preparing for a burst.
    if (++sent_in_a_row_ > kLone) to.producer.prefetch_next_cells();
    notify(*to.bell);
    return kOk;
  }
  std::byte* reserve(int proc, std::size_t bytes) override {
    Producer& producer = outgoing_[static_cast<std::size_t>(local(proc))].producer;
    if (std::byte* slot = producer.reserve(bytes); slot != nullptr) [[likely]]
      return slot;
    return make_room(local(proc), bytes).ok() ? producer.reserve(bytes) : nullptr;
  }
  void commit(int proc, const Header& header) override {
    Outgoing& to = outgoing_[static_cast<std::size_t>(local(proc))];
    to.producer.commit(header);
    notify(*to.bell);
  }
  [[nodiscard]] bool has_space(int proc, int messages) noexcept override {
    return outgoing_[static_cast<std::size_t>(local(proc))].producer.has_cells(messages);
  }
  [[nodiscard]] bool has_left(int proc) const noexcept override {
    return segment_.doorbell(local(proc))->left.load(std::memory_order_acquire) != 0;
  }
  bool progress() override;
  Status get(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override;
  Status put(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) override;
  std::span<SharedWord> shared_words(int proc) override { return segment_.words(local(proc)); }
  CpuSharers tell_cpus(std::uint64_t number, const CpuBits& cpus) noexcept override;
  [[nodiscard]] CpusTogether cpus_together() noexcept override;
  std::span<std::byte> staging(int proc) override;
  [[nodiscard]] int most_channels() const noexcept override { return segment_.sizes().channels; }
  void offer_channels(int number) noexcept override {
    bell_->channels.store(static_cast<std::uint32_t>(number), std::memory_order_release);
  }
  [[nodiscard]] int channels_of(int proc) const noexcept override {
    return static_cast<int>(segment_.doorbell(local(proc))->channels.load(std::memory_order_acquire));
  }
  Status make_channel(int number, const Handlers& handlers, std::unique_ptr<Transport>* out) override;
  [[nodiscard]] bool can_sleep() const noexcept override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> arm() override;
  void sleep(std::uint32_t armed, double at_most_seconds) override;
  void wake() noexcept override { bell_->wake(); }
  Status finalize() override {
    leave();
    if (own_ == 0) segment_.settle();
    return kOk;
  }

 protected:
  // Shows the others that they need not wait for space in the rings that this process reads.
  void leave() noexcept {
    if (bell_ != nullptr) bell_->left.store(1, std::memory_order_release);
  }
  [[nodiscard]] int local(int proc) const noexcept { return local_of_[static_cast<std::size_t>(proc)]; }
  [[nodiscard]] int processes() const noexcept { return static_cast<int>(ranks_.size()); }

  // Sets this process up once the segment is mapped.
  void enter();
  // A peer to which this process has connected. Every message writes to it, and to Incoming, so they share no cache
  // line with memory of other channels.
  struct alignas(kCacheLine) Outgoing {
    Producer producer{nullptr, 0};
    Doorbell* bell = nullptr;  // null: not connected
    bool reserved = false;     // the ring has its initial memory
    // Longest payload for which there is memory. A channel reads it without this transport's lock.
    Relaxed<std::size_t> most{kNoLimit};
    // Value tuned for processes at this distance; 0: not tuned.
    std::size_t eager_bytes = 0;
  };
  // Allocates the initial memory of the ring to a peer on this node.
  Status reserve(int peer);
  void notify(Doorbell& bell) noexcept {
    if (!direct_) [[unlikely]]
      bell.pending(processes())[own_ / 64].fetch_or(std::uint64_t{1} << (own_ % 64), std::memory_order_release);
    bell.ring();
  }
  [[gnu::noinline]] Status send_long(int peer, const Header& header, const void* payload, std::size_t bytes);
  Status make_room(int peer, std::size_t bytes);
  void note_small_ring(int peer);
  void make_exchange_buffer(int peer);
  void accept_connections();
  // A peer that has connected to this process.
  struct alignas(kCacheLine) Incoming {
    Consumer consumer;
    int rank;
    int index;  // index on the node
  };
  bool drain(Incoming& from);
  [[nodiscard]] std::size_t tuned_eager_bytes(int proc) const;
  [[nodiscard]] pid_t pid_of(int proc) const noexcept {
    return segment_.doorbell(local(proc))->pid.load(std::memory_order_acquire);
  }
  // Verifies, once per peer, that the process with the peer's pid in this pid namespace is the peer: if it is not, its
  // memory must not be accessed.
  Status recognise(int proc);
  [[nodiscard]] bool anything_ready() noexcept;

  const MessageHandlers& message_handlers_;
  const Handlers& handlers_;
  Segment segment_;
  Segment::Sizes sizes_{};
  std::string path_;      // path of the segment's file, if it has a name
  Status created_ = kOk;  // result, in the process that creates the segment
  std::string why_not_created_;
  Doorbell* bell_ = nullptr;       // doorbell of this process
  bool ring_stays_small_ = false;  // true once a message to that effect has been logged
  unsigned sent_in_a_row_ = 0;
  std::uint32_t connections_ = 0;  // number of bell_->connections already accepted
  int own_ = 0;                    // index on the node
  std::size_t first_bytes_ = 0;    // payload space of a new ring
  std::uint64_t first_cells_ = 0;  // cells of a new ring
  bool direct_ = true;             // this process polls the rings of all its senders
  enum class Staging : std::uint8_t { kUnasked, kReserved, kNone } own_staging_ = Staging::kUnasked;
  Buffered buffered_{counters::Buffers::kShm};
  int node_ = 0;
  std::vector<int> ranks_;                         // ranks, indexed by index on the node
  std::vector<int> local_of_;                      // indices on the node, indexed by rank; -1 for ranks on other nodes
  std::vector<Outgoing> outgoing_;                 // indexed by index on the node
  std::vector<ExchangeBuffers> exchange_buffers_;  // likewise
  std::vector<Incoming> incoming_;
  enum class Memory : std::uint8_t { kUnknown, kPeers, kNotReached };
  std::unique_ptr<std::atomic<Memory>[]> memory_;  // indexed by index on the node; copies may lack the library lock
  std::vector<int> incoming_of_;  // indices into incoming_, indexed by index on the node; -1: not connected
};

void Shm::create(const Job& job) {
  const int count = processes();
  path_ = knobs().shm_dir + "/headrace." + std::string(job.job_id) + "." + std::to_string(node_);
  sizes_ = sizes_for(count);
  allow_peer_access();
  if (own_ != 0) return;
  created_ = segment_.create(path_, sizes_);
  if (!created_.ok()) why_not_created_ = take_detail();
  // Informs the others even if creation fails, as they would otherwise wait forever.
  // The creator's limits decide how many channels the file has.
  boot::node_put(kFile, created_.ok() ? std::to_string(sizes_.channels) + kAfterNumber + segment_.name()
                                      : std::string(kFailed) + why_not_created_);
}

Status Shm::open() {
  if (own_ == 0) {
    if (!created_.ok()) set_detail(std::move(why_not_created_));
    HR_TRY(created_);
  } else {
    std::string answer;
    HR_TRY(boot::node_get(kFile, &answer));
    // Every process reports the reason, because any of the reports may be seen first.
    if (answer.starts_with(kFailed)) {
      return fail(Errc::kOther, "rank %d %s", ranks_[0], answer.c_str() + kFailed.size());
    }
    const std::size_t end = answer.find(kAfterNumber);
    sizes_.channels = std::clamp(std::atoi(answer.c_str()), 0, kMostChannels);
    answer.erase(0, end + 1);
    if (!segment_.attach(answer, sizes_).ok()) {
      // The creator may already have left MPI.
      std::string why = take_detail();
      const Status named = segment_.attach(path_, sizes_);
      if (!named.ok()) {
        // If the creator has not left, it has died: the launcher knows the reason, and is about to end this process.
        // The launcher's report must appear before that of this process.
        if (answer != path_) ::poll(nullptr, 0, kLaunchersTime);
        set_detail(std::move(why));
      }
      HR_TRY(named);
    }
  }
  enter();
  const int count = processes();
  for (int peer = 0; peer < count && count <= kReserveAtOnce; ++peer) {
    if (peer != own_ && !reserve(peer).ok()) (void)take_detail();  // connect() retries and reports the error
  }
  return kOk;
}

void Shm::enter() {
  const int count = processes();
  bell_ = segment_.doorbell(own_);
  bell_->pid_probe_address.store(reinterpret_cast<std::uintptr_t>(&pid_probe), std::memory_order_relaxed);
  bell_->pid_probe.store(pid_probe, std::memory_order_relaxed);
  bell_->pid.store(::getpid(), std::memory_order_release);
  first_bytes_ = std::min(first_bytes_for(count), segment_.payload_bytes());
  first_cells_ = first_cells_for(count);
  memory_ = std::make_unique<std::atomic<Memory>[]>(static_cast<std::size_t>(count));
  outgoing_ = std::vector<Outgoing>(static_cast<std::size_t>(count));
  incoming_of_.assign(static_cast<std::size_t>(count), -1);
  for (int peer = 0; peer < count; ++peer) {
    if (peer == own_) exchange_buffers_.emplace_back();
    if (peer != own_)
      exchange_buffers_.emplace_back(segment_.exchange_buffers(own_, peer), sizes_.exchange_buffers, own_ < peer);
  }
}

Status Shm::make_channel(int number, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  auto made = std::make_unique<Shm>(*this, handlers);
  HR_TRY(made->segment_.enter_area(segment_, number));
  made->sizes_ = made->segment_.sizes();
  made->enter();
  *out = std::move(made);
  return kOk;
}

Status Shm::reserve(int peer) {
  Outgoing& to = outgoing_[static_cast<std::size_t>(peer)];
  if (to.reserved) return kOk;
  HR_TRY(segment_.reserve_cells(peer, own_, first_cells_));
  if (first_bytes_ != 0) HR_TRY(segment_.reserve_payload(peer, own_, first_bytes_));
  buffered_.take(cells_footprint(first_cells_) + first_bytes_);
  (void)segment_.ring(peer, own_)->cells_consumed.load(std::memory_order_relaxed);  // maps the first page
  to.reserved = true;
  return kOk;
}

Status Shm::connect(int proc) {
  const int peer = local(proc);
  Outgoing& to = outgoing_[static_cast<std::size_t>(peer)];
  if (to.bell != nullptr) return kOk;
  HR_TRY(reserve(peer));
  to.producer = Producer(segment_.ring(peer, own_), segment_.payload_bytes(), first_bytes_,
                         &exchange_buffers_[static_cast<std::size_t>(peer)], first_cells_);
  to.bell = segment_.doorbell(peer);
  to.bell->announce(own_);
  to.eager_bytes = tuned_eager_bytes(proc);
  if (to.eager_bytes != 0) {
    log::write(log::Level::kDecision, "shm: rank %d: sent unasked: up to %zu bytes, as tuned for such peers", proc,
               to.eager_bytes);
  }
  return kOk;
}

// Returns the tuned eager limit for this peer; 0: not tuned. If there is a separate limit for processes that share a
// cache, looks up the peer's cache by its pid, and waits a moment for a process that is just starting.
std::size_t Shm::tuned_eager_bytes(int proc) const {
  const auto same_host = tuned_for_peers("eager_bytes", "same-host");
  const auto same_cache = tuned_for_peers("eager_bytes", "same-cache");
  if (same_cache) {
    for (int wait = 0; pid_of(proc) == 0 && wait < kMostWaitsForPid; ++wait) ::poll(nullptr, 0, 1);
    const std::string own = pid_of(proc) != 0 ? last_cache_of(0) : std::string();
    if (!own.empty() && own == last_cache_of(pid_of(proc))) return std::min(*same_cache, segment_.payload_bytes() / 4);
  }
  return same_host ? std::min(*same_host, segment_.payload_bytes() / 4) : 0;
}

// Sends a message of any length.
Status Shm::send_long(int peer, const Header& header, const void* payload, std::size_t bytes) {
  Outgoing& to = outgoing_[static_cast<std::size_t>(peer)];
  if (to.producer.wants_exchange_buffer(bytes)) [[unlikely]]
    make_exchange_buffer(peer);
  if (!to.producer.send(header, payload, bytes)) {
    HR_TRY(make_room(peer, bytes));
    if (!to.producer.send(header, payload, bytes)) return Status::again();
  }
  notify(*to.bell);
  return kOk;
}

// Called after a message was refused. Returns kOk if the message is worth another attempt, because the ring has more
// memory now or is to stay small; Status::again() if the ring is full; an error if there is no memory for the payload:
// from now on, caps() allow only payloads that fit into a cell, or into half of the memory that there is.
Status Shm::make_room(int peer, std::size_t bytes) {
  Producer& producer = outgoing_[static_cast<std::size_t>(peer)].producer;
  if (producer.wants_cells()) {
    const std::uint64_t cells = std::min<std::uint64_t>(4 * producer.backed_cells() + 3, kCells);  // whole pages
    if (!segment_.reserve_cells(peer, own_, cells).ok()) {
      note_small_ring(peer);
      producer.settle_cells();
      return kOk;
    }
    buffered_.take((cells - producer.backed_cells()) * sizeof(Cell));
    producer.back_cells(cells);
    return kOk;
  }
  if (producer.wanted() == 0) return Status::again();
  std::size_t usable =
      std::min(std::max({producer.wanted(), 2 * producer.usable(), kLeastPayload}), segment_.payload_bytes());
  Status status = segment_.reserve_payload(peer, own_, usable);
  if (!status.ok() && producer.wanted() < usable) {
    usable = producer.wanted();
    status = segment_.reserve_payload(peer, own_, usable);
  }
  if (status.ok()) {
    buffered_.take(usable - producer.usable());
    producer.grow(usable);
    return kOk;
  }
  if (bytes > producer.usable()) {
    outgoing_[static_cast<std::size_t>(peer)].most = std::max(kInlineBytes, producer.usable() / 2);
    return status;
  }
  note_small_ring(peer);
  producer.settle();
  return kOk;
}

void Shm::note_small_ring(int peer) {
  log::note_once(ring_stays_small_, "messages to rank %d use less shared memory than planned: %s",
                 ranks_[static_cast<std::size_t>(peer)], take_detail().c_str());
}

void Shm::make_exchange_buffer(int peer) {
  ExchangeBuffers& exchange_buffers = exchange_buffers_[static_cast<std::size_t>(peer)];
  if (segment_.reserve_exchange_buffer(own_, peer, exchange_buffers.made()).ok()) {
    buffered_.take(kExchangeBufferBytes);
    return exchange_buffers.make();
  }
  static_cast<void>(take_detail());  // the ring is used instead
  exchange_buffers.stop_creating();
}

void Shm::accept_connections() {
  connections_ = bell_->connections.load(std::memory_order_acquire);
  for (std::size_t word = 0; word < Doorbell::words(processes()); ++word) {
    std::uint64_t bits = bell_->connected()[word].load(std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      const auto sender = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (incoming_of_[sender] >= 0) continue;
      incoming_of_[sender] = static_cast<int>(incoming_.size());
      incoming_.push_back({Consumer(segment_.ring(own_, static_cast<int>(sender)), &exchange_buffers_[sender]),
                           ranks_[sender], static_cast<int>(sender)});
    }
  }
}

inline bool Shm::drain(Incoming& from) {
  if (!from.consumer.ready()) return false;
  int taken = 0;
  do from.consumer.take(from.rank, message_handlers_);
  while (++taken < kBatch && from.consumer.ready());
  // The producer for the opposite direction has no ring before this process connects to the peer.
  Outgoing& back = outgoing_[static_cast<std::size_t>(from.index)];
  if (back.bell != nullptr) [[likely]]
    back.producer.note_reply();
  return true;
}

bool Shm::progress() {
  sent_in_a_row_ = 0;
  if (bell_->connections.load(std::memory_order_relaxed) != connections_) [[unlikely]]
    accept_connections();
  bool moved = false;
  if (direct_) [[likely]] {
    for (Incoming& from : incoming_) moved |= drain(from);
    return moved;
  }
  std::atomic<std::uint64_t>* pending = bell_->pending(processes());
  for (std::size_t word = 0; word < Doorbell::words(processes()); ++word) {
    if (pending[word].load(std::memory_order_relaxed) == 0) continue;
    std::uint64_t bits = pending[word].exchange(0, std::memory_order_acq_rel);
    for (; bits != 0; bits &= bits - 1) {
      const auto sender = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      // A thread may see the bit before it sees the connection, although the connection was made earlier.
      if (incoming_of_[sender] < 0) accept_connections();
      Incoming& from = incoming_[static_cast<std::size_t>(incoming_of_[sender])];
      moved |= drain(from);
      // A full batch may leave messages behind, but their bit has been cleared already.
      if (from.consumer.ready()) {
        pending[word].fetch_or(std::uint64_t{1} << (sender % 64), std::memory_order_relaxed);
      }
    }
  }
  return moved;
}

transport::Transport::CpuSharers Shm::tell_cpus(std::uint64_t number, const CpuBits& cpus) noexcept {
  static_assert(std::extent_v<decltype(Doorbell::cpu_bits)> == std::tuple_size_v<CpuBits>);
  if (bell_->cpus.load(std::memory_order_relaxed) != number) {
    for (std::size_t word = 0; word < cpus.size(); ++word)
      bell_->cpu_bits[word].store(cpus[word], std::memory_order_relaxed);
    bell_->cpus.store(number, std::memory_order_release);
  }
  CpuSharers found{0, true, 0};
  for (int process = 0; process < processes(); ++process) {
    const Doorbell& bell = *segment_.doorbell(process);
    if (bell.left.load(std::memory_order_relaxed) != 0) continue;
    const std::uint64_t its = bell.cpus.load(std::memory_order_relaxed);
    found.processes += its == number;
    found.all_reported = found.all_reported && its != 0;
    found.all += its * (2 * static_cast<std::uint64_t>(process) + 1);
  }
  return found;
}

transport::Transport::CpusTogether Shm::cpus_together() noexcept {
  CpusTogether found;
  for (int process = 0; process < processes(); ++process) {
    const Doorbell& bell = *segment_.doorbell(process);
    if (bell.left.load(std::memory_order_relaxed) != 0 || bell.cpus.load(std::memory_order_acquire) == 0) continue;
    ++found.processes;
    for (std::size_t word = 0; word < found.cpus.size(); ++word)
      found.cpus[word] |= bell.cpu_bits[word].load(std::memory_order_relaxed);
  }
  return found;
}

std::span<std::byte> Shm::staging(int proc) {
  const int index = local(proc);
  if (index != own_) return segment_.staging(index);
  if (own_staging_ == Staging::kUnasked) {
    const Status reserved = segment_.reserve_staging(own_);
    own_staging_ = reserved.ok() ? Staging::kReserved : Staging::kNone;
    if (reserved.ok()) {
      buffered_.take(segment_.sizes().staging_bytes);
    } else {
      log::write(log::Level::kNote, "messages between GPU memory and other processes are not pipelined: %s",
                 take_detail().c_str());
    }
  }
  return own_staging_ == Staging::kReserved ? segment_.staging(own_) : std::span<std::byte>{};
}

bool Shm::anything_ready() noexcept {
  if (bell_->connections.load(std::memory_order_acquire) != connections_) return true;
  for (Incoming& from : incoming_) {
    if (from.consumer.ready()) return true;
  }
  return false;
}

std::optional<std::uint32_t> Shm::arm() {
  const std::uint32_t rings = bell_->arm();
  if (!anything_ready()) return rings;
  bell_->disarm(rings);
  return std::nullopt;
}

void Shm::sleep(std::uint32_t armed, double at_most_seconds) {
  bell_->sleep(armed, at_most_seconds);
  bell_->disarm(armed);
}

Status Shm::recognise(int proc) {
  std::atomic<Memory>& memory = memory_[static_cast<std::size_t>(local(proc))];
  const auto stranger = [proc](const char* why) {
    return fail(Errc::kUnsupportedOperation, "the memory of rank %d cannot be reached: %s", proc, why);
  };
  switch (memory.load(std::memory_order_relaxed)) {
    case Memory::kPeers:
      return kOk;
    case Memory::kNotReached:
      return stranger("found out before");
    case Memory::kUnknown:
      break;
  }
  const Doorbell& bell = *segment_.doorbell(local(proc));
  const pid_t pid = pid_of(proc);
  std::uint64_t found = 0;
  const RemotePart part{bell.pid_probe_address.load(std::memory_order_relaxed), reinterpret_cast<std::byte*>(&found),
                        sizeof found};
  const Status reading = read_process({proc, pid}, {&part, 1});
  const bool known = reading.ok() && found == bell.pid_probe.load(std::memory_order_relaxed);
  memory.store(known ? Memory::kPeers : Memory::kNotReached, std::memory_order_relaxed);
  if (known) return kOk;
  return reading.ok() ? stranger("another process has its number here") : reading;
}

Status Shm::get(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) {
  if (key != nullptr) return Errc::kUnsupportedOperation;
  HR_TRY(recognise(proc));
  HR_TRY(read_process({proc, pid_of(proc)}, parts));
  if (done != nullptr) done->complete = true;
  return kOk;
}

Status Shm::put(int proc, const RemoteKey* key, std::span<const RemotePart> parts, Operation* done) {
  if (key != nullptr) return Errc::kUnsupportedOperation;
  HR_TRY(recognise(proc));
  HR_TRY(write_process({proc, pid_of(proc)}, parts));
  if (done != nullptr) done->complete = true;
  return kOk;
}

// Transport between processes of several jobs. The launcher does not end this process when a process of another job
// dies, so this process checks from time to time: each process keeps its byte of the file locked while it lives.
class Between final : public Shm {
 public:
  Between(const Job& job, const Handlers& handlers, std::span<const int> here, std::span<const int> theirs)
      : Shm(job, handlers, here), left_(theirs.begin(), theirs.end()) {
    // This transport does not reach processes of the same set.
    for (const int proc : here) {
      if (proc != job.rank && std::ranges::find(theirs, proc) == theirs.end())
        local_of_[static_cast<std::size_t>(proc)] = -1;
    }
  }

  Status join(const std::string& name);
  bool progress() override {
    const bool moved = Shm::progress();
    if (++rounds_ % kLookAfter == 0) [[unlikely]]
      check_presence();
    return moved;
  }
  [[nodiscard]] bool connects(std::string_view groups) const override { return path_ == path_of(groups); }
  void confirm() override { all_joined_ = true; }
  void abandon() override { leaves_as_ = kAbandoned; }
  bool disconnect(std::span<const int> procs) override {
    bool disconnected = false;
    for (const int proc : procs) {
      if (!reaches(proc) || std::erase(left_, proc) == 0) continue;
      local_of_[static_cast<std::size_t>(proc)] = -1;
      disconnected = true;
    }
    return disconnected && left_.empty();
  }
  Status finalize() override {
    leave();
    bell_->pid.store(leaves_as_, std::memory_order_release);
    segment_.forget_name();
    return kOk;
  }

 private:
  static constexpr unsigned kLookAfter = 64;  // rounds of progress
  static constexpr double kLookSeconds = 0.1;
  // Used instead of a pid: the process has left, or does not count the groups as connected.
  static constexpr std::int32_t kGone = -1;
  static constexpr std::int32_t kAbandoned = -2;

  static std::string path_of(std::string_view groups) { return (knobs().shm_dir + "/headrace.").append(groups); }
  void check_presence();

  std::vector<int> left_;  // processes of the other set not disconnected yet
  std::int32_t leaves_as_ = kGone;
  bool all_joined_ = false;  // every process has joined, although perhaps a file that was removed when it ended
  unsigned rounds_ = 0;
  double looked_ = 0;
};

Status Between::join(const std::string& name) {
  path_ = path_of(name);
  sizes_ = sizes_for(processes());
  sizes_.channels = 0;
  allow_peer_access();
  HR_TRY(segment_.create_or_attach(path_, sizes_));
  sizes_ = segment_.sizes();
  show_presence(segment_.descriptor(), own_);
  enter();
  return kOk;
}

void Between::check_presence() {
  const double now = now_seconds();
  if (now - looked_ < kLookSeconds) return;
  looked_ = now;
  for (std::size_t at = 0; at < left_.size(); ++at) {
    const int proc = left_[at];
    const std::int32_t pid = pid_of(proc);
    const bool never_joined_this = pid == 0 && all_joined_;
    if (never_joined_this)
      handlers_.failed(proc,
                       fail(Errc::kOther, "it did not join the shared memory of both jobs; it has probably ended"));
    if (pid == kAbandoned && all_joined_)
      handlers_.failed(proc, fail(Errc::kOther, "another process of its job could not connect to this one"));
    if (pid <= 0 || is_present(segment_.descriptor(), local(proc))) continue;
    // The peer may have left in the meantime.
    if (pid_of(proc) <= 0) continue;
    handlers_.failed(proc, fail(Errc::kOther, "process %d, which was it, has ended", static_cast<int>(pid)));
  }
}

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  if (job.processes.of_this_host().size() <= 1) return kOk;
  auto made = std::make_unique<Shm>(job, handlers, job.processes.of_this_host());
  made->create(job);
  *out = std::move(made);
  return kOk;
}

Status connect_groups(const Job& job, const Handlers& handlers, const PeerGroups& here,
                      std::unique_ptr<Transport>* out) {
  std::vector<int> all = here.first ? here.ours : here.theirs;
  const std::vector<int>& second = here.first ? here.theirs : here.ours;
  all.insert(all.end(), second.begin(), second.end());
  auto made = std::make_unique<Between>(job, handlers, all, here.theirs);
  HR_TRY(made->join(here.name));
  *out = std::move(made);
  return kOk;
}

}  // namespace

const Record kRecord{"shm", create, false, connect_groups};

}  // namespace hr::transport::shm

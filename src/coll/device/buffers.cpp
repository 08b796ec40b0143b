#include "coll/device/buffers.hpp"

#include <algorithm>

#include "base/statistics.hpp"
#include "coll/algorithm.hpp"
#include "coll/execute.hpp"
#include "coll/messages.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll::device {
namespace {

using p2p::Task;

// Maximum number of verified allocations in the list; beyond it, the list is cleared, and allocations are verified
// again.
constexpr std::size_t kMostProven = 256;

// Operations in which all processes know the blocks of a contiguous receive buffer.
constexpr std::uint32_t kEqualBlocks =
    serves(Operation::kBcast, Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAlltoall);

// Another process's addresses may be read once its flag has arrived.
DeviceAddresses& addresses_of(const Call& call, int rank) noexcept {
  return *reinterpret_cast<DeviceAddresses*>(shared::flag_lines_of(call, rank).room);
}

struct DataFinal {
  std::vector<mem::device::Fence>& fences;
  bool operator()() {
    for (mem::device::Fence& fence : fences) {
      if (!fence.passed()) return false;
    }
    return true;
  }
};

struct WorkDone {
  layout::device::PeerWork& work;
  Status status = kOk;
  bool operator()() {
    bool done = false;
    const Status now = work.poll(&done);
    if (status.ok()) status = now;
    return done;
  }
};

// Value of Control::device_trial and Control::device_done: the operation, and the outcome.
constexpr std::uint64_t outcome_word(std::uint64_t sequence_number, bool good) noexcept {
  return (sequence_number + 1) * 2 + (good ? 1 : 0);
}

struct EverybodyTried {
  const Call& call;
  bool mapped = true;
  int next = 0;
  bool operator()() noexcept {
    for (; next < call.size(); ++next) {
      const std::uint64_t result = call.segment->control(next).device_trial.value.load(std::memory_order_acquire);
      if (result < outcome_word(call.sequence_number, false)) return false;
      mapped = mapped && result == outcome_word(call.sequence_number, true);
    }
    return true;
  }
};

struct EverybodyDone {
  const Call& call;
  int failed = -1;  // a process whose GPU has failed
  int next = 0;
  bool operator()() noexcept {
    for (; next < call.size(); ++next) {
      const std::uint64_t outcome = call.segment->control(next).device_done.value.load(std::memory_order_acquire);
      if (outcome < outcome_word(call.sequence_number, false)) return false;
      if (outcome == outcome_word(call.sequence_number, false)) failed = next;
    }
    return true;
  }
};

}  // namespace

Task DeviceBuffers::exchange(const Call& call) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  DeviceAddresses& own = addresses_of(call, call.rank());
  describe(call, own);
  fences_.clear();
  if (own.has(DeviceAddresses::kReachable)) {
    for (const mem::Location& where : contexts_) {
      // If the device has no context, the work itself reports the error.
      (void)fences_.emplace_back().set(where);
    }
    DataFinal final{fences_};
    HR_CO_UNTIL(call, final);
  }
  shared::publish(call, own.length());
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.segment->note_all_arrived(call.sequence_number);
  note_all_devices(call);
  std::uint32_t any = 0;
  std::uint32_t all = ~std::uint32_t{0};
  for (int rank = 0; rank < call.size(); ++rank) {
    const std::uint32_t flags = addresses_of(call, rank).flags;
    any |= flags;
    all &= flags;
  }
  agreed_ = (all & DeviceAddresses::kReachable) != 0 &&
            ((any & DeviceAddresses::kTyped) == 0 || (all & DeviceAddresses::kKernels) != 0);
  if (agreed_ && (any & DeviceAddresses::kUnproven) != 0) {
    if ((any & DeviceAddresses::kMoved) != 0 || proven_.size() > kMostProven) proven_.clear();
    Task proving = prove(call);
    HR_CO_TRY(co_await proving);
  }
  co_return kOk;
}

void DeviceBuffers::find_sharers(const Call& call) {
  mem::Location where;
  for (const Blocks* blocks : {&call.send, &call.recv}) {
    if (!where.is_device()) where = location_of(call, *blocks).value_or(mem::Location{});
  }
  const std::uint64_t own = where.is_device() ? mem::device::Context::locality_of(where) : 0;
  if (own == 0) return;
  std::atomic<std::uint64_t>& published = call.segment->control(call.rank()).device_trial.device;
  if (published.load(std::memory_order_relaxed) != own) published.store(own, std::memory_order_relaxed);
  for (int rank = 0; rank < call.size(); ++rank) {
    const std::uint64_t other = call.segment->control(rank).device_trial.device.load(std::memory_order_relaxed);
    const bool shares = rank != call.rank() && mem::device::Context::share_time_sliced(own, other);
    if (shares && mem::device::Context::note_peer_device(where, other)) return;
  }
}

void DeviceBuffers::note_all_devices(const Call& call) {
  const std::uint64_t own = addresses_of(call, call.rank()).locality;
  for (int rank = 0; rank < call.size(); ++rank) {
    const std::uint64_t locality = addresses_of(call, rank).locality;
    const bool shares = rank != call.rank() && mem::device::Context::share_time_sliced(own, locality);
    if (shares) static_cast<void>(mem::device::Context::note_peer_device(near_, locality));
    for (int other = 0; other < rank && !time_sliced_; ++other) {
      time_sliced_ = mem::device::Context::share_time_sliced(locality, addresses_of(call, other).locality);
    }
  }
}

Task DeviceBuffers::prove(const Call& call) {
  const bool mapped = map_everything(call);
  call.segment->control(call.rank())
      .device_trial.value.store(outcome_word(call.sequence_number, mapped), std::memory_order_release);
  EverybodyTried everybody{call};
  HR_CO_UNTIL(call, everybody);
  agreed_ = everybody.mapped;
  if (!agreed_) {
    proven_.clear();
    proven_context_ = {};
    proven_near_ = {};
    co_return kOk;
  }
  const DeviceAddresses& own = addresses_of(call, call.rank());
  for (std::uint32_t i = 0; i < own.allocation_count; ++i) {
    const std::uint64_t id = own.allocations[i].id;
    if (std::find(proven_.begin(), proven_.end(), id) == proven_.end()) proven_.push_back(id);
  }
  if (near_.is_device()) {
    proven_near_ = near_;
    proven_context_ = mapping_context_;
  }
  co_return kOk;
}

// Maps all peers' allocations; false if that failed. A process without a buffer in this operation maps them on the
// device that it used last; if it has used none, it verifies them once it passes a buffer.
bool DeviceBuffers::map_everything(const Call& call) {
  if (!near_.is_device()) near_ = proven_near_;
  bool mapped = true;
  for (int rank = 0; rank < call.size() && near_.is_device(); ++rank) {
    for (std::uint32_t i = 0; rank != call.rank() && i < addresses_of(call, rank).allocation_count && mapped; ++i) {
      std::uint64_t unused = 0;
      mapped = map(call, rank, i, &unused).ok();
    }
  }
  mappings_.release();
  return mapped;
}

Status DeviceBuffers::map(const Call& call, int rank, std::uint64_t allocation, std::uint64_t* moved_by) {
  *moved_by = 0;
  if (rank == call.rank()) return kOk;
  return mappings_.map(near_, call.members->peer_proc(rank), addresses_of(call, rank).allocations[allocation],
                       moved_by);
}

Status DeviceBuffers::peer_pointers(const Call& call, int rank, PeerPointers* pointers) {
  const DeviceAddresses& addresses = addresses_of(call, rank);
  std::uint64_t moved_by = 0;
  if (addresses.send.bytes != 0) {
    HR_TRY(map(call, rank, addresses.send.allocation, &moved_by));
    pointers->send = addresses.send.address + moved_by;
  }
  if (addresses.recv.bytes != 0) {
    HR_TRY(map(call, rank, addresses.recv.allocation, &moved_by));
    pointers->recv = addresses.recv.address + moved_by;
  }
  return kOk;
}

bool DeviceBuffers::whole_everywhere(const Call& call) const noexcept {
  constexpr std::uint64_t kVector = 16;
  const Buffer& own = addresses_of(call, call.rank()).recv;
  for (int rank = 0; rank < call.size(); ++rank) {
    const DeviceAddresses& addresses = addresses_of(call, rank);
    if (!addresses.has(DeviceAddresses::kKernels) || addresses.recv.bytes != own.bytes ||
        (addresses.recv.address - own.address) % kVector != 0)
      return false;
  }
  return own.bytes != 0;
}

int DeviceBuffers::worker_of(const Call& call, int rank) noexcept {
  const std::uint64_t locality = addresses_of(call, rank).locality;
  for (int other = 0; other < rank; ++other) {
    if (mem::device::Context::share_time_sliced(addresses_of(call, other).locality, locality)) return other;
  }
  return rank;
}

int DeviceBuffers::devices(const Call& call) noexcept {
  int found = 0;
  for (int rank = 0; rank < call.size(); ++rank) {
    bool known = false;
    for (int other = 0; other < rank && !known; ++other) {
      known = addresses_of(call, other).locality == addresses_of(call, rank).locality;
    }
    if (!known) ++found;
  }
  return found;
}

DeviceBuffers::Part DeviceBuffers::own_part(const Call& call, int spared) noexcept {
  const int idle = spared < 0 ? spared : worker_of(call, spared);
  Part part;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == idle || worker_of(call, rank) != rank) continue;
    if (rank == call.rank()) part.index = part.count;
    ++part.count;
  }
  return part.count != 0 ? part : Part{call.rank() == idle ? 0 : -1, 1};
}

// True if process `source` of a gather itself stores its data at the root: the copy engines of several GPUs that store
// into one GPU are faster than the copy engines of one GPU that reads from several. The result is the same on root and
// sender.
bool DeviceBuffers::stores_at_root(const Call& call, int source) noexcept {
  constexpr std::uint64_t kLong = std::uint64_t{1} << 20;
  if (call.operation != Operation::kGather || worker_of(call, source) == worker_of(call, call.root)) return false;
  const Buffer& all = addresses_of(call, call.root).recv;
  const Piece& piece = addresses_of(call, source).pieces[0];
  return piece.bytes >= kLong && piece.side.linear() && piece.bytes <= all.bytes / static_cast<unsigned>(call.size());
}

Status DeviceBuffers::store_at_root(const Call& call) {
  PeerPointers root;
  HR_TRY(peer_pointers(call, call.root, &root));
  const std::uint64_t block = addresses_of(call, call.root).recv.bytes / static_cast<unsigned>(call.size());
  const Piece& piece = addresses_of(call, call.rank()).pieces[0];
  const auto to = static_cast<std::uintptr_t>(root.recv + static_cast<unsigned>(call.rank()) * block);
  const layout::device::PeerWork::Move move{
      piece.side, layout::bytes_view(reinterpret_cast<const void*>(to), piece.bytes, near_), piece.bytes};
  return work_.move(near_, {&move, 1});
}

// True if another process, its worker, moves what `rank` receives. The same on both.
bool DeviceBuffers::is_served(const Call& call, int rank) noexcept {
  return (kEqualBlocks & serves(call.operation)) != 0 && worker_of(call, rank) != rank &&
         addresses_of(call, rank).recv.bytes != 0;
}

// Sets the side of a move that reads a piece of `source`.
Status DeviceBuffers::find_source(const Call& call, int source, const Piece& piece,
                                  layout::device::PeerWork::Move* move) {
  move->from = piece.side;
  move->bytes = piece.bytes;
  std::uint64_t moved_by = 0;
  HR_TRY(map(call, source, piece.allocation, &moved_by));
  move->from.address += moved_by;
  if (piece.list == Piece::kNoList) return kOk;
  HR_TRY(map(call, source, piece.list, &moved_by));
  move->from.blocks += moved_by;
  move->from.index += moved_by;
  return kOk;
}

// Checks everything that this process receives. Adds the moves, unless another process makes them.
Status DeviceBuffers::add_own_moves(const Call& call) {
  const bool served = is_served(call, call.rank());
  for (const Taken& taken : taken_) {
    const int source = taken.name.source;
    if (stores_at_root(call, source)) continue;
    const Piece* piece = find_piece(addresses_of(call, source), taken.name, call.rank());
    if (piece == nullptr) {
      return fail(Errc::kTopology, "%s: rank %d does not send as many blocks to this process as it receives",
                  name(call.operation), source);
    }
    if (piece->bytes > taken.to.packed) {
      return fail(Errc::kTruncate, "%s: rank %d gives %llu bytes where this process has room for %zu",
                  name(call.operation), source, static_cast<unsigned long long>(piece->bytes), taken.to.packed);
    }
    if (piece->bytes == 0 || served) continue;
    layout::device::PeerWork::Move move{{}, taken.to, 0};
    HR_TRY(find_source(call, source, *piece, &move));
    moves_.push_back(move);
  }
  return kOk;
}

// Adds the moves of a process that this one serves. Pieces that do not fit are left out, as the process reports them.
Status DeviceBuffers::add_moves_for(const Call& call, int client) {
  const Buffer& recv = addresses_of(call, client).recv;
  std::uint64_t moved_by = 0;
  HR_TRY(map(call, client, recv.allocation, &moved_by));
  const bool one_block = call.operation == Operation::kBcast || call.operation == Operation::kScatter;
  const std::uint64_t room = one_block ? recv.bytes : recv.bytes / static_cast<unsigned>(call.size());
  for (int i = 1; i <= call.size(); ++i) {
    const int source = (client + i) % call.size();
    if (one_block && source != call.root) continue;
    const bool one_each = call.operation == Operation::kScatter || call.operation == Operation::kAlltoall;
    const PieceName name{source, one_each ? static_cast<std::uint32_t>(client) : 0};
    const Piece* piece = find_piece(addresses_of(call, source), name, client);
    if (piece == nullptr || piece->bytes == 0 || piece->bytes > room || stores_at_root(call, source)) continue;
    if (source == client && (call.in_place || call.operation == Operation::kBcast)) continue;
    const std::uint64_t to = recv.address + moved_by + (one_block ? 0 : static_cast<unsigned>(source) * room);
    layout::device::PeerWork::Move move{
        {}, layout::bytes_view(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(to)), piece->bytes, near_), 0};
    HR_TRY(find_source(call, source, *piece, &move));
    moves_.push_back(move);
  }
  return kOk;
}

Status DeviceBuffers::fetch(const Call& call) {
  if (stores_at_root(call, call.rank())) return store_at_root(call);
  moves_.clear();
  const Status own = add_own_moves(call);
  for (int rank = 0; rank < call.size(); ++rank) {
    if (is_served(call, rank) && worker_of(call, rank) == call.rank()) HR_TRY(add_moves_for(call, rank));
  }
  const Status moved = work_.move(near_, moves_);
  return own.ok() ? moved : own;
}

Task DeviceBuffers::finish(const Call& call, Status status) {
  WorkDone done{work_};
  HR_CO_UNTIL(call, done);
  mappings_.release();
  if (status.ok()) status = done.status;
  // Mistakes in the arguments concern only this process; its GPU may also have worked for others.
  const bool good = status.ok() || status == Errc::kTruncate || status == Errc::kTopology;
  call.segment->control(call.rank())
      .device_done.value.store(outcome_word(call.sequence_number, good), std::memory_order_release);
  EverybodyDone everybody{call};
  HR_CO_UNTIL(call, everybody);
  if (status.ok() && everybody.failed >= 0) {
    status = fail(Errc::kOther, "%s: the device of rank %d has failed, which also works for other processes",
                  name(call.operation), everybody.failed);
  }
  co_return status;
}

Task DeviceBuffers::execute(const Call& call, Status (*start)(const Call&, DeviceBuffers&)) {
  add(Statistic::coll_device);
  DeviceBuffers& buffers = call.segment->device_buffers();
  const Status started = start(call, buffers);
  Task finishing = buffers.finish(call, started);
  const Status status = co_await finishing;
  co_return status;
}

}  // namespace hr::coll::device

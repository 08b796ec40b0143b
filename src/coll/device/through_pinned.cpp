#include "coll/device/through_pinned.hpp"

#include <optional>
#include <vector>

#include "base/knobs.hpp"
#include "base/statistics.hpp"
#include "coll/execute.hpp"
#include "coll/reduction.hpp"
#include "coll/shared/wait.hpp"
#include "coll/view_tools.hpp"
#include "layout/device/chunk_copy.hpp"
#include "layout/device/reduce.hpp"
#include "mem/device/pinned_staging.hpp"
#include "mem/device/two_rows.hpp"

namespace hr::coll::device {
namespace {

using layout::View;
using layout::device::ChunkCopy;
using mem::device::Context;
using mem::device::Current;
using mem::device::DeviceAddress;
using mem::device::TwoRows;
using p2p::Task;

bool on_device(const Call& call, const Blocks& blocks) { return data_kind_of(call, blocks) == DataKind::kDeviceData; }

bool is_whole(const Blocks& blocks) noexcept {
  return blocks.shape() == Blocks::Shape::kUniform || blocks.shape() == Blocks::Shape::kConsecutive;
}

bool is_dense(const layout::Datatype& type) noexcept { return type.contiguous(2) && type.true_lb() == 0; }

std::size_t limit(const Call& call) noexcept {
  return knobs().device_time_sliced_collective_bytes * static_cast<std::size_t>(call.size());
}

// Returns the size of the longest buffer above which a device is faster. In a reduction, and in operations with blocks
// of equal lengths, one member of each device works for all; in other operations, each member takes a turn.
std::size_t limit_of_turns(const Call& call) noexcept {
  constexpr std::uint32_t kMoves =
      serves(Operation::kBcast, Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAlltoall);
  const bool reduces = call.op != nullptr && call.size() <= layout::device::kMaxReduceSides &&
                       layout::device::can_reduce(*call.op, *contribution(call).type);
  const bool one_worker = reduces || (kMoves & serves(call.operation)) != 0;
  return one_worker ? knobs().device_time_sliced_collective_bytes / 8 : limit(call);
}

// True if a buffer on a device is one view, or blocks of one dense type whose total length is limited. Does not depend
// on the location of the data, because managed memory can migrate between two checks.
bool can_copy(const Call& call, const Blocks& blocks) {
  if (is_whole(blocks)) return true;
  const bool one_type = blocks.shape() == Blocks::Shape::kCounts && is_dense(blocks.type(0));
  std::size_t bytes = 0;
  const int length = one_type ? length_of(call, blocks) : 0;
  for (int i = 0; i < length; ++i) bytes += blocks.bytes(i);
  return one_type && bytes <= limit(call);
}

// Host copy of one buffer. Contiguous data is copied while the task polls, by the resident copy kernel if it is short,
// else by a copy engine; other layouts are copied synchronously, including their holes.
class Mirror {
 public:
  Mirror() = default;
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  // Waits for the copies: once the task is abandoned, nothing may write to the memory.
  ~Mirror() {
    while (copy_.under_way() && !(*this)()) spin_pause();
  }

  // Prepares the copy; does nothing if the buffer is not on a device, or cannot be copied: managed memory may have
  // migrated to the device since fits_pinned().
  Status make(const Call& call, const Blocks& blocks) {
    blocks_ = blocks;
    if (!on_device(call, blocks) || !can_copy(call, blocks)) return kOk;
    device_ = &blocks;
    if (!is_whole(blocks)) return make_blocks(length_of(call, blocks));
    const View& whole = blocks.all();
    if (!whole.contiguous) {
      typed_.emplace(whole.count, *whole.type);
      blocks_ = blocks.moved_to(typed_->view());
      return kOk;
    }
    add_segment(whole, 1);
    HR_TRY(take_memory(whole.where));
    View host = whole;
    host.address = moved(staging_.data(), -whole.type->true_lb());
    host.where = pinned();
    blocks_ = blocks.moved_to(host);
    return kOk;
  }
  [[nodiscard]] bool used() const noexcept { return device_ != nullptr; }
  // Blocks that the algorithm sees.
  [[nodiscard]] const Blocks& blocks() const noexcept { return blocks_; }

  Status start_out() { return typed_ ? layout::copy(device_->all(), typed_->view()) : start(Way::kOut); }
  Status start_in() { return typed_ ? layout::copy(typed_->view(), device_->all()) : start(Way::kIn); }

  // Condition (shared/wait.hpp): true once the copies in progress are done.
  bool operator()() {
    bool done = false;
    status_ = copy_.poll(&done);
    return done;
  }
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  using Way = ChunkCopy::Way;
  // A piece of contiguous device memory, and the offset of its copy.
  struct Segment {
    DeviceAddress address;
    std::size_t bytes;
    std::size_t at;
  };

  [[nodiscard]] static mem::Location pinned() noexcept {
    mem::Location where;
    where.pinned = true;
    return where;
  }

  // Returns the offset of the data's copy. Each segment begins at a multiple of `unit` bytes.
  std::size_t add_segment(const View& data, std::size_t unit) {
    const DeviceAddress address = reinterpret_cast<std::uintptr_t>(data.data());
    where_ = data.where;
    if (!segments_.empty() && segments_.back().address + segments_.back().bytes == address) {
      segments_.back().bytes += data.packed;
      return segments_.back().at + segments_.back().bytes - data.packed;
    }
    const std::size_t end = segments_.empty() ? 0 : segments_.back().at + segments_.back().bytes;
    segments_.push_back({address, data.packed, (end + unit - 1) / unit * unit});
    return segments_.back().at;
  }

  Status make_blocks(int length) {
    const layout::Datatype& type = device_->type(0);
    const auto unit = static_cast<std::size_t>(type.size());
    displacements_.resize(static_cast<std::size_t>(length));
    for (int i = 0; i < length; ++i) {
      if (device_->bytes(i) == 0) continue;
      View block;
      HR_TRY(device_->block(i, &block));
      displacements_[static_cast<std::size_t>(i)] = static_cast<Count>(add_segment(block, unit) / unit);
    }
    HR_TRY(take_memory(where_));
    blocks_ = Blocks::counted(staging_.data(), device_->counts(), displacements_.data(), device_->type(0));
    return kOk;
  }

  Status take_memory(const mem::Location& where) {
    where_ = where;
    std::size_t bytes = segment_bytes_ = (segments_.back().at + segments_.back().bytes + 63) / 64 * 64;
    for (const Segment& segment : segments_)
      bytes += TwoRows::serves(segment.bytes) ? TwoRows{segment.bytes}.span() : 0;
    Context* context = nullptr;
    HR_TRY(Context::of(where, &context));
    const Current current(*context);
    HR_TRY(current.status());
    return staging_.take(*context, bytes);
  }

  Status start(Way way) {
    Context* context = nullptr;
    HR_TRY(Context::of(where_, &context));
    ranges_.clear();
    std::size_t rows_at = segment_bytes_;
    for (const Segment& segment : segments_) {
      ChunkCopy::Range& range = ranges_.emplace_back();
      range = {segment.address, staging_.address() + segment.at, segment.bytes};
      if (way == Way::kOut || !context->time_sliced() || !TwoRows::serves(segment.bytes)) continue;
      const TwoRows rows{segment.bytes};
      rows.lay_out(staging_.data() + segment.at, staging_.data() + rows_at);
      range.staging = staging_.address() + rows_at;
      range.rows = true;
      rows_at += rows.span();
    }
    return copy_.move(way, *context, ranges_);
  }

  const Blocks* device_ = nullptr;
  Blocks blocks_;
  mem::Location where_;
  std::vector<Segment> segments_;
  std::vector<ChunkCopy::Range> ranges_;
  std::size_t segment_bytes_ = 0;  // length of all segments' copies; their rows (TwoRows) follow
  std::vector<Count> displacements_;
  std::optional<TypedScratch> typed_;
  mem::device::PinnedStaging staging_;
  ChunkCopy copy_;  // destroyed before the memory
  Status status_{};
};

// True if the algorithm reads the receive buffer, or leaves parts of it unchanged.
bool begins_in_recv(const Call& call) noexcept {
  return call.in_place || call.operation == Operation::kExscan ||
         (call.operation == Operation::kBcast && call.is_root());
}
bool ends_in_recv(const Call& call) noexcept { return call.operation != Operation::kBcast || !call.is_root(); }

// Returns the size in bytes of the operation's longest buffer, if all members know it; otherwise 0.
std::size_t longest(const Call& call) noexcept {
  constexpr std::uint32_t kOfBlocks = serves(Operation::kGather, Operation::kScatter, Operation::kAllgather,
                                             Operation::kAllgatherv, Operation::kAlltoall);
  const bool blocks = (kOfBlocks & serves(call.operation)) != 0;
  return blocks ? call.bytes * static_cast<std::size_t>(call.size()) : call.bytes;
}

bool fits(const Call& call, const Blocks& blocks) { return !on_device(call, blocks) || can_copy(call, blocks); }

}  // namespace

bool pinned_pays(const Call& call) noexcept {
  // Operations whose blocks mostly have holes, and which one kernel can move.
  constexpr std::uint32_t kTyped = serves(Operation::kAlltoallw, Operation::kNeighborAlltoallw);
  return (kTyped & serves(call.operation)) == 0 && longest(call) <= limit_of_turns(call);
}

bool short_enough_for_pinned(const Call& call) noexcept {
  // Operations whose size all members know.
  constexpr std::uint32_t kKnown =
      serves(Operation::kBcast, Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAlltoall,
             Operation::kReduce, Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock,
             Operation::kScan, Operation::kExscan);
  return (kKnown & serves(call.operation)) != 0 && longest(call) <= knobs().device_short_collective_bytes;
}

bool fits_pinned(const Call& call) { return fits(call, call.send) && fits(call, call.recv); }

Task through_pinned(const Call& call, const Algorithm* algorithm) {
  add(Statistic::coll_through_pinned);
  Call host = call;
  Mirror send, recv;
  HR_CO_TRY(send.make(call, call.send));
  HR_CO_TRY(recv.make(call, call.recv));
  if (send.used()) HR_CO_TRY(send.start_out());
  if (recv.used() && begins_in_recv(call)) HR_CO_TRY(recv.start_out());
  HR_CO_UNTIL_OWN(call, send);
  HR_CO_TRY(send.status());
  HR_CO_UNTIL_OWN(call, recv);
  HR_CO_TRY(recv.status());
  host.send = send.blocks();
  host.recv = recv.blocks();
  Task inner = algorithm->run(host);
  const Status status = co_await inner;
  if (!status.ok()) co_return status;
  if (recv.used() && ends_in_recv(call)) HR_CO_TRY(recv.start_in());
  HR_CO_UNTIL_OWN(call, recv);
  co_return recv.status();
}

}  // namespace hr::coll::device

#include "io/device_transfer.hpp"

#include <algorithm>
#include <utility>

#include "boot/boot.hpp"
#include "io/state.hpp"
#include "layout/device/chunk_copy.hpp"

namespace hr::io {

using layout::device::ChunkCopy;
using p2p::Task;

namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;
constexpr std::size_t kMostIdle = 2;  // maximum number of idle pairs of chunks

// A pair of chunks; idle ones are reused.
class Chunks {
 public:
  Chunks() {
    auto& idle = state().pinned_chunks;
    if (idle.empty()) {
      pool_ = std::make_unique<p2p::PinnedPool>(kPiece, 2);
    } else {
      pool_ = std::move(idle.back());
      idle.pop_back();
    }
  }
  ~Chunks() {
    if (pool_->usable() && state().pinned_chunks.size() < kMostIdle) state().pinned_chunks.push_back(std::move(pool_));
  }
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  Status pin(const layout::View& memory) {
    if (!pool_->usable()) return fail(Errc::kNoMem, "no memory for %zu bytes to stage a device's data", 2 * kPiece);
    return pool_->pin(memory);
  }
  [[nodiscard]] std::byte* host(std::uint32_t chunk) const { return pool_->host(chunk); }
  [[nodiscard]] mem::device::DeviceAddress address(std::uint32_t chunk) const { return pool_->address(chunk); }

 private:
  std::unique_ptr<p2p::PinnedPool> pool_;
};

// One of the two pieces in progress.
struct Slot {
  std::size_t offset = 0, bytes = 0;
  std::size_t moved = 0;  // bytes that the job has moved
  bool working = false, copying = false;
  Job job;
  ChunkCopy copy;
  Status copied;

  static bool is_copied(void* slot) {
    auto* const me = static_cast<Slot*>(slot);
    bool done = false;
    me->copied = me->copy.poll(&done);
    return done || !me->copied.ok();
  }
};

class Pieces {
 public:
  explicit Pieces(Operation& operation) : operation_(operation), total_(operation.memory().packed) {}

  Status begin() { return chunks_.pin(operation_.memory()); }
  [[nodiscard]] std::size_t count() const noexcept { return (total_ + kPiece - 1) / kPiece; }
  Slot& slot(std::size_t piece) noexcept { return slots_[piece % 2]; }
  void take(std::size_t piece) noexcept {
    slot(piece).offset = piece * kPiece;
    slot(piece).bytes = std::min(kPiece, total_ - piece * kPiece);
  }

  Status start_copy(std::size_t piece, std::size_t bytes) {
    Slot& own = slot(piece);
    const auto chunk = chunks_.address(static_cast<std::uint32_t>(piece % 2));
    const layout::View& memory = operation_.memory();
    const int process = boot::processes().self();
    HR_TRY(operation_.writes() ? own.copy.pack(memory, own.offset, bytes, chunk, ChunkCopy::In::kPinned, process)
                               : own.copy.unpack(memory, own.offset, bytes, chunk, ChunkCopy::In::kPinned, process));
    own.copying = true;
    return kOk;
  }
  void start_job(std::size_t piece) {
    Slot& own = slot(piece);
    Place place = operation_.place();
    place.position += static_cast<Count>(own.offset);
    std::byte* const host = chunks_.host(static_cast<std::uint32_t>(piece % 2));
    own.working = true;
    worker().submit(own.job, [place, host, slot = &own, writes = operation_.writes()] {
      return writes ? write_contiguous(place, host, slot->bytes, &slot->moved)
                    : read_contiguous(place, host, slot->bytes, &slot->moved);
    });
  }

 private:
  Operation& operation_;
  std::size_t total_;
  Chunks chunks_;
  Slot slots_[2];
};

// Waits until the slot's job is done. *failed: keeps the first error.
Task end_job(Slot* slot, Status* failed, std::size_t* done) {
  if (!slot->working) co_return kOk;
  p2p::When over = slot->job.over();
  HR_CO_TRY(co_await over);
  slot->working = false;
  const Status ended = slot->job.result();
  if (failed->ok()) *done += slot->moved;
  if (failed->ok()) *failed = ended;
  co_return kOk;
}

Task end_copy(Slot* slot, Status* failed) {
  if (!slot->copying) co_return kOk;
  p2p::When over{&Slot::is_copied, slot};
  HR_CO_TRY(co_await over);
  slot->copying = false;
  if (failed->ok()) *failed = slot->copied;
  co_return kOk;
}

Task write_pieces(Pieces* pieces, Status* failed, std::size_t* done) {
  const std::size_t count = pieces->count();
  for (std::size_t piece = 0; piece <= count; ++piece) {
    // The device packs this piece while the worker writes the previous one.
    if (piece < count && failed->ok()) {
      Task freeing = end_job(&pieces->slot(piece), failed, done);
      HR_CO_TRY(co_await freeing);
      pieces->take(piece);
      if (failed->ok()) *failed = pieces->start_copy(piece, pieces->slot(piece).bytes);
    }
    if (piece < count) {
      Task copying = end_copy(&pieces->slot(piece), failed);
      HR_CO_TRY(co_await copying);
      if (failed->ok()) pieces->start_job(piece);
    }
  }
  for (std::size_t last = count; last < count + 2; ++last) {
    Task ending = end_job(&pieces->slot(last), failed, done);
    HR_CO_TRY(co_await ending);
  }
  co_return kOk;
}

Task read_pieces(Pieces* pieces, Status* failed, std::size_t* done) {
  const std::size_t count = pieces->count();
  bool ended = false;
  for (std::size_t piece = 0; piece <= count; ++piece) {
    if (piece < count && failed->ok() && !ended) {
      Task freeing = end_copy(&pieces->slot(piece), failed);
      HR_CO_TRY(co_await freeing);
      pieces->take(piece);
      pieces->start_job(piece);
    }
    if (piece == 0) continue;
    // The worker reads that piece while the device unpacks the previous one.
    Slot& before = pieces->slot(piece - 1);
    if (!before.working) continue;
    Task reading = end_job(&before, failed, done);
    HR_CO_TRY(co_await reading);
    if (before.moved != 0 && !ended) {
      const Status copy = pieces->start_copy(piece - 1, before.moved);
      if (failed->ok()) *failed = copy;
    }
    ended |= before.moved < before.bytes;
  }
  for (std::size_t last = count; last < count + 2; ++last) {
    std::size_t beyond = 0;
    Task ending = end_job(&pieces->slot(last), failed, &beyond);
    HR_CO_TRY(co_await ending);
    Task copying = end_copy(&pieces->slot(last), failed);
    HR_CO_TRY(co_await copying);
  }
  co_return kOk;
}

}  // namespace

bool device_moves(const layout::View& memory) {
  return memory.where.is_device() && memory.packed != 0 && layout::device::movable(memory);
}

Task move_by_device(Operation* operation) {
  Pieces pieces(*operation);
  HR_CO_TRY(pieces.begin());
  Status failed;
  std::size_t done = 0;
  Task moving = operation->writes() ? write_pieces(&pieces, &failed, &done) : read_pieces(&pieces, &failed, &done);
  HR_CO_TRY(co_await moving);
  operation->set_done(done);
  co_return failed;
}

}  // namespace hr::io

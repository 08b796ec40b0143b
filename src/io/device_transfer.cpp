#include "io/device_transfer.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "boot/boot.hpp"
#include "io/state.hpp"
#include "layout/device/chunk_copy.hpp"
#include "mem/device/context.hpp"
#include "mem/device/pinned_staging.hpp"

namespace hr::io {
namespace {

using layout::device::ChunkCopy;
using mem::device::Context;
using p2p::Task;

constexpr std::size_t kPiece = std::size_t{4} << 20;
constexpr std::size_t kDepth = 2;  // pieces under way: one is copied while the other one is read or written

// A piece in progress. In a write, the device copies it into its chunk, and then the worker writes it to the file; in a
// read, the worker reads it into the chunk, and then the device copies it out.
struct Piece {
  std::size_t offset = 0, bytes = 0;
  std::size_t moved = 0;  // bytes that the job has moved
  enum class Phase : std::uint8_t { kFree, kCopying, kWorking } phase = Phase::kFree;
  bool copy_ended = false;
  Status copied;
  ChunkCopy copy;
  Job job;

  bool is_over() {
    if (phase == Phase::kWorking) return job.is_done();
    if (!copy_ended) copied = copy.poll(&copy_ended);
    return copy_ended;
  }
};

class Transfer {
 public:
  using Phase = Piece::Phase;

  explicit Transfer(Operation& operation) : operation_(operation), total_(operation.memory().packed) {}

  Status begin() {
    Context* context = nullptr;
    HR_TRY(Context::of(operation_.memory().where, &context));
    const mem::device::Current current(*context);
    HR_TRY(current.status());
    return memory_.take(*context, kDepth * kPiece);
  }

  // Starts everything that can be started; true once nothing is under way or left.
  bool advance() {
    while (Piece* const each = over()) (each->phase == Phase::kCopying ? end_copy(*each) : end_job(*each));
    forget_free();
    for (; next_ - oldest_ < kDepth && next_ * kPiece < total_ && failed_.ok() && !at_end_; ++next_) {
      Piece& each = piece(next_);
      each.offset = next_ * kPiece;
      each.bytes = std::min(kPiece, total_ - each.offset);
      if (operation_.writes()) {
        start_copy(each, each.bytes);
      } else {
        start_job(each);
      }
    }
    forget_free();
    return oldest_ == next_;
  }
  static bool can_advance(void* transfer) { return static_cast<Transfer*>(transfer)->over() != nullptr; }

  [[nodiscard]] std::size_t done() const noexcept { return done_; }
  [[nodiscard]] Status failed() const noexcept { return failed_; }

 private:
  Piece& piece(std::size_t number) noexcept { return pieces_[number % kDepth]; }
  // Returns the offset of the piece's chunk in the memory.
  [[nodiscard]] std::size_t chunk_of(const Piece& piece) const noexcept {
    return static_cast<std::size_t>(&piece - pieces_) * kPiece;
  }

  void forget_free() noexcept {
    while (oldest_ != next_ && piece(oldest_).phase == Phase::kFree) ++oldest_;
  }

  // Returns a piece whose phase is over; null: none. Copies are taken in order, so that the worker writes in order.
  Piece* over() {
    for (std::size_t number = oldest_; number != next_; ++number) {
      Piece& each = piece(number);
      if (each.phase == Phase::kFree) continue;
      if (each.is_over()) return &each;
      if (each.phase == Phase::kCopying) return nullptr;
    }
    return nullptr;
  }

  void start_copy(Piece& piece, std::size_t bytes) {
    const auto chunk = memory_.address() + chunk_of(piece);
    const layout::View& memory = operation_.memory();
    const int process = boot::processes().self();
    const Status status = operation_.writes()
                              ? piece.copy.pack(memory, piece.offset, bytes, chunk, ChunkCopy::In::kPinned, process)
                              : piece.copy.unpack(memory, piece.offset, bytes, chunk, ChunkCopy::In::kPinned, process);
    piece.phase = status.ok() ? Phase::kCopying : Phase::kFree;
    piece.copy_ended = false;
    if (failed_.ok()) failed_ = status;
  }
  void end_copy(Piece& piece) {
    piece.phase = Phase::kFree;
    if (failed_.ok()) failed_ = piece.copied;
    if (operation_.writes() && failed_.ok()) start_job(piece);
  }

  void start_job(Piece& piece) {
    Place place = operation_.place();
    place.position += static_cast<Count>(piece.offset);
    std::byte* const host = memory_.data() + chunk_of(piece);
    piece.phase = Phase::kWorking;
    piece.moved = 0;
    worker().submit(piece.job, [place, host, to = &piece, writes = operation_.writes()] {
      return writes ? write_contiguous(place, host, to->bytes, &to->moved)
                    : read_contiguous(place, host, to->bytes, &to->moved);
    });
  }
  // Counts only data that directly follows the data counted before.
  void end_job(Piece& piece) {
    piece.phase = Phase::kFree;
    const Status ended = piece.job.result();
    if (!failed_.ok() || at_end_) return;
    done_ += piece.moved;
    failed_ = ended;
    if (operation_.writes()) return;
    at_end_ = piece.moved < piece.bytes;
    if (piece.moved != 0) start_copy(piece, piece.moved);
  }

  Operation& operation_;
  std::size_t total_;
  mem::device::PinnedStaging memory_;
  std::size_t oldest_ = 0, next_ = 0;  // numbers of the pieces that are under way
  std::size_t done_ = 0;
  bool at_end_ = false;  // of the file
  Status failed_;        // first failure; nothing starts after it
  Piece pieces_[kDepth];
};

}  // namespace

bool device_moves(const layout::View& memory) {
  return memory.where.is_device() && memory.packed != 0 && layout::device::movable(memory);
}

Task move_by_device(Operation* operation) {
  Transfer transfer(*operation);
  HR_CO_TRY(transfer.begin());
  while (!transfer.advance()) {
    p2p::When ready{&Transfer::can_advance, &transfer};
    HR_CO_TRY(co_await ready);
  }
  operation->set_done(transfer.done());
  co_return transfer.failed();
}

}  // namespace hr::io

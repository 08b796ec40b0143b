// paired: moves messages of matched pairs between a buffer and a slot, with one or several blocks per message. The
// stream or the kernel has waited until a slot is ready. A kernel that waits holds few registers and no shared memory;
// it ends at once when its pair is released.
#include "matched_copy.hpp"
#include "paired_arguments.hpp"
#include "portability.hpp"

namespace hr::matched_kernels {

using kernels::kPairedReleased;
using kernels::PairedMove;
using kernels::PairedWords;

HR_DEVICE PairedWords* other_of(const PairedMove& move) { return reinterpret_cast<PairedWords*>(move.other); }

// Waits for a free slot, normally only briefly, and fills it.
HR_DEVICE void send_lines(const PairedMove& move, PairedWords* own) {
  const std::uint32_t number = look(&own->moved);
  if (!wait_until_ready(&own->ready, kPairedReleased)) return;
  store_lines(move.from, move.to + number % kernels::kPairedLineSlots * move.to_step, move.bytes, number + 1);
  // All threads have read `moved`, as there was a barrier. On the CPU, the last thread also runs last.
  if (!is_last_thread()) return;
  own->moved = number + 1;
  add(&own->ready, ~std::uint32_t{0});
}

// Waits for a full slot and empties it.
HR_DEVICE void receive_lines(const PairedMove& move, PairedWords* own) {
  const std::uint32_t number = look(&own->moved);
  const std::uint64_t slot = move.from + number % kernels::kPairedLineSlots * move.from_step;
  if (!take_lines(slot, move.to, move.bytes, number + 1, &own->ready, kPairedReleased)) return;
  if (!is_last_thread()) return;
  own->moved = number + 1;
  if ((number + 1) % kernels::kPairedLineReturn == 0) add(&other_of(move)->ready, kernels::kPairedLineReturn);
}

// A slot is ready: moves this block's part of the message.
HR_DEVICE void move_part(const PairedMove& move, PairedWords* own, std::uint64_t part) {
  const std::uint32_t moved = own->moved;
  const std::uint32_t slot = moved % kernels::kPairedSlots;
  copy_part(move.from + slot * move.from_step, move.to + slot * move.to_step, move.bytes, part, move.blocks);
  finish_copies();
  if (!is_last_thread()) return;
  fence();
  if (move.blocks > 1) {
    if (count_block(&own->finished) + 1 != move.blocks) return;
    own->finished = 0;
  }
  // The last block: all blocks have read `moved`.
  own->moved = moved + 1;
  add(&own->ready, ~std::uint32_t{0});
  fence();
  add(&other_of(move)->ready, 1);
}

}  // namespace hr::matched_kernels

HR_KERNEL(hr_paired, (HR_CONSTANT hr::kernels::PairedMoves moves)) {
  using namespace hr::matched_kernels;  // NOLINT
  const auto width = static_cast<unsigned>(moves.width);
  const PairedMove& move = moves.each[blockIdx.x / width];
  const std::uint64_t part = blockIdx.x % width;
  auto* const own = reinterpret_cast<PairedWords*>(move.own);
  if (part >= move.blocks) return;
  switch (move.way) {
    case hr::kernels::kPairedSendLines:
      return send_lines(move, own);
    case hr::kernels::kPairedTakeLines:
      return receive_lines(move, own);
    case hr::kernels::kPairedWait:
      if (wait_until_ready(&own->ready, kPairedReleased)) move_part(move, own, part);
      return;
    default:
      if (look(&own->ready) < kPairedReleased) move_part(move, own, part);
  }
}

// paired: moves messages of matched pairs between a buffer and a slot, by one or several blocks for each message. The
// stream has waited until a slot is ready, so nothing waits here.
#include "matched_copy.hpp"
#include "paired_arguments.hpp"
#include "portability.hpp"

HR_KERNEL(hr_paired, (HR_CONSTANT hr::kernels::PairedMoves moves)) {
  using namespace hr::matched_kernels;  // NOLINT
  const hr::kernels::PairedMove& move = moves.each[blockIdx.x / moves.width];
  const std::uint64_t part = blockIdx.x % moves.width;
  auto* const own = reinterpret_cast<hr::kernels::PairedWords*>(move.own);
  if (part >= move.blocks || look(&own->ready) >= hr::kernels::kPairedReleased) return;
  const std::uint32_t moved = own->moved;
  const std::uint32_t slot = moved % hr::kernels::kPairedSlots;
  copy_part(move.from + slot * move.from_step, move.to + slot * move.to_step, move.bytes, part, move.blocks);
  finish_copies();
  if (!is_last_thread()) return;
  if (move.blocks > 1) {
    if (count_block(&own->finished) + 1 != move.blocks) return;
    own->finished = 0;
  }
  // The last block: all have read `moved`.
  own->moved = moved + 1;
  add(&own->ready, ~std::uint32_t{0});
  fence();
  add(&reinterpret_cast<hr::kernels::PairedWords*>(move.other)->ready, 1);
}

// paired: moves messages of matched pairs between a buffer and a slot, a block for each message. The stream has waited
// until a slot is ready, so nothing waits here.
#include "matched_copy.hpp"
#include "paired_arguments.hpp"
#include "portability.hpp"

HR_KERNEL(hr_paired, (HR_CONSTANT hr::kernels::PairedMoves moves)) {
  using namespace hr::matched_kernels;  // NOLINT
  const hr::kernels::PairedMove& move = moves.each[blockIdx.x];
  auto* const own = reinterpret_cast<hr::kernels::PairedWords*>(move.own);
  if (look(&own->ready) >= hr::kernels::kPairedReleased) return;
  const std::uint32_t moved = own->moved;
  const std::uint32_t slot = moved % hr::kernels::kPairedSlots;
  copy_bytes(move.from + slot * move.from_step, move.to + slot * move.to_step, move.bytes);
  finish_copies();
  if (!is_last_thread()) return;
  own->moved = moved + 1;
  add(&own->ready, ~std::uint32_t{0});
  fence();
  add(&reinterpret_cast<hr::kernels::PairedWords*>(move.other)->ready, 1);
}

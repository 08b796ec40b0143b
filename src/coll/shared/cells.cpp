#include "coll/shared/cells.hpp"

#include "base/cache_hints.hpp"

namespace hr::coll::shared {

void publish_and_demote(const Call& call, std::size_t bytes) noexcept {
  demote(own_cell(call).data(bytes), bytes);
  publish(call);
  prefetch_for_write(call.area->cell(call.rank(), call.ticket + 1, swaps(call)).data(bytes), bytes);
}

Status take_blocks(const Call& call) {
  View block;
  call.area->note_all_arrived(call.ticket);
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    HR_TRY(call.recv.block(rank, &block));
    HR_TRY(take_packed(call, rank, block));
  }
  return kOk;
}

}  // namespace hr::coll::shared

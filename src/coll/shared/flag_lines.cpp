#include "coll/shared/flag_lines.hpp"

#include "base/cache_hints.hpp"

namespace hr::coll::shared {

void publish_and_demote(const Call& call, FlagLines& own, std::size_t bytes) noexcept {
  demote(own.data(bytes), bytes);
  publish(call, own);
  prefetch_for_write(call.segment->flag_lines(call.rank(), call.sequence_number + 1, swaps(call)).data(bytes), bytes);
}

Status take_blocks(const Call& call) {
  View block;
  call.segment->note_all_arrived(call.sequence_number);
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    HR_TRY(call.recv.block(rank, &block));
    HR_TRY(take_packed(call, rank, block));
  }
  return kOk;
}

}  // namespace hr::coll::shared

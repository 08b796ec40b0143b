// Allgather through shared cells: each process puts its block into its cell and takes all others.
#include "coll/shared/cells.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

// With blocks of different sizes, which any may have as long as all together fit, only the mean is known here.
bool probe(const Query& query) noexcept {
  if (query.operation == Operation::kAllgatherv) return shared::blocks_fit(query);
  return has_cells(query) && query.bytes <= shared::kCellBytes;
}

Task run(const Call& call) {
  View block;
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  if (call.in_place) {
    HR_CO_TRY(call.recv.block(call.rank(), &block));
  } else {
    HR_CO_TRY(call.send.block(0, &block));
  }
  HR_CO_TRY(shared::publish_packed(call, block));
  HR_CO_TRY(copy_block(call.send, 0, call.recv, call.rank()));
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  co_return shared::take_blocks(call);
}

}  // namespace

const Algorithm allgather_cells = {"cells", serves(Operation::kAllgather, Operation::kAllgatherv), &probe, &run,
                                   Sharing::kCells};

}  // namespace hr::coll

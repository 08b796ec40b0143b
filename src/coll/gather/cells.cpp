// Gather through shared cells: each process puts its block into its cell, the root takes them. Only the root waits.
#include "coll/shared/cells.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return has_cells(query) && query.bytes <= shared::kCellBytes; }

Task run(const Call& call) {
  View block;
  if (!call.is_root()) {
    shared::CellFree free{call};
    HR_CO_UNTIL(call, free);
    HR_CO_TRY(call.send.block(0, &block));
    HR_CO_TRY(shared::publish_packed(call, block));
    co_return kOk;
  }
  HR_CO_TRY(copy_block(call.send, 0, call.recv, call.rank()));
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  co_return shared::take_blocks(call);
}

}  // namespace

const Algorithm gather_cells = {"cells", serves(Operation::kGather), &probe, &run, Sharing::kCells};

}  // namespace hr::coll

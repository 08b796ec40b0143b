// Scatter through the root's shared cell, which holds the blocks of all. The root waits for no other, unless it is
// several operations ahead.
#include "coll/shared/cells.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  if (call.is_root()) {
    shared::CellFree free{call};
    HR_CO_UNTIL(call, free);
    HR_CO_TRY(shared::publish_packed(call, call.send.all()));
    HR_CO_TRY(copy_block(call.send, call.rank(), call.recv, 0));
    co_return kOk;
  }
  View block;
  HR_CO_TRY(call.recv.block(0, &block));
  shared::CellArrived arrived{call, call.root};
  HR_CO_UNTIL(call, arrived);
  const std::size_t all = block.packed * static_cast<std::size_t>(call.size());
  HR_CO_TRY(shared::take_part(call, call.root, all, block.packed * static_cast<std::size_t>(call.rank()), block));
  co_return kOk;
}

}  // namespace

const Algorithm scatter_cells = {"cells", serves(Operation::kScatter), &shared::blocks_fit, &run, Sharing::kCells};

}  // namespace hr::coll

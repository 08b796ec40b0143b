// Barrier through shared cells: each process raises a flag and looks at all others.
#include "coll/shared/cells.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  shared::publish(call, 0);
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->note_all_arrived(call.ticket);
  co_return kOk;
}

}  // namespace

const Algorithm barrier_cells = {"cells", serves(Operation::kBarrier), &has_cells, &run, Sharing::kCells};

}  // namespace hr::coll

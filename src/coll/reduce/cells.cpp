// Reduce through shared cells: everybody puts its vector into its cell, the root combines them. Only the root waits.
#include "coll/registry.hpp"
#include "coll/shared/reduce_cells.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_vector(call, contribution(call)));
  if (!call.is_root()) co_return kOk;
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  const int top = call.op->commutative() ? call.root : 0;
  HR_CO_TRY(shared::combine_tree(call, shared::TreeOrder::binomial(call.size(), top), 0, call.recv.all()));
  co_return kOk;
}

}  // namespace

const Algorithm reduce_cells = {"cells", serves(Operation::kReduce), &shared::vector_fits, &run, Sharing::kCells};

}  // namespace hr::coll

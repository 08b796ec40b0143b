// Reduce through shared cells: each process puts its vector into its cell, the root combines them. Only the root waits.
#include "coll/registry.hpp"
#include "coll/shared/reduce_cells.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_vector(call));
  if (!call.is_root()) co_return kOk;
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->note_all_arrived(call.ticket);
  const int top = call.op->commutative() ? call.root : 0;
  const View& result = call.recv.all();
  const shared::CellVectors vectors(call, 0, result.count);
  co_return vectors.combine_tree(shared::TreeOrder::binomial(call.size(), top), result.address);
}

}  // namespace

const Algorithm reduce_cells = {"cells", serves(Operation::kReduce), &shared::vector_fits, &run, Sharing::kCells};

}  // namespace hr::coll

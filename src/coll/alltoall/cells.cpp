// Alltoall through shared cells: everybody puts all its blocks into its cell and takes its own from everybody's.
#include "coll/shared/cells.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_packed(call, (call.in_place ? call.recv : call.send).all()));
  HR_CO_TRY(copy_block(call.send, call.rank(), call.recv, call.rank()));
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  const std::size_t all = call.recv.all().packed;
  const std::size_t own = call.recv.bytes(0) * static_cast<std::size_t>(call.rank());
  View block;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    HR_CO_TRY(call.recv.block(rank, &block));
    HR_CO_TRY(shared::take_part(call, rank, all, own, block));
  }
  co_return kOk;
}

}  // namespace

const Algorithm alltoall_cells = {"cells", serves(Operation::kAlltoall), &shared::blocks_fit, &run, Sharing::kCells};

}  // namespace hr::coll

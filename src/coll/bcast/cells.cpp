// Broadcast through the root's shared cell. The root waits for no other, unless it is several operations ahead.
#include "coll/shared/cells.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return has_cells(query) && query.bytes <= shared::kCellBytes; }

Task run(const Call& call) {
  const View& data = call.recv.all();
  if (call.is_root()) {
    shared::CellFree free{call};
    HR_CO_UNTIL(call, free);
    HR_CO_TRY(shared::publish_packed(call, data));
    co_return kOk;
  }
  shared::CellArrived arrived{call, call.root};
  HR_CO_UNTIL(call, arrived);
  HR_CO_TRY(shared::take_packed(call, call.root, data));
  co_return kOk;
}

}  // namespace

const Algorithm bcast_cells = {"cells", serves(Operation::kBcast), &probe, &run, Sharing::kCells};

}  // namespace hr::coll

// Scatter through the root's flag line, with the blocks of all processes next to it. The root waits for other processes
// only if it is several operations ahead.
#include "coll/registry.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  if (call.is_root()) {
    shared::FlagLinesFree free{call};
    HR_CO_UNTIL(call, free);
    HR_CO_TRY(shared::publish_packed(call, call.send.all()));
    HR_CO_TRY(copy_block(call.send, call.rank(), call.recv, 0));
    co_return kOk;
  }
  View block;
  HR_CO_TRY(call.recv.block(0, &block));
  shared::FlagArrived arrived{call, call.root};
  HR_CO_UNTIL(call, arrived);
  const std::size_t all = block.packed * static_cast<std::size_t>(call.size());
  HR_CO_TRY(shared::take_part(call, call.root, all, block.packed * static_cast<std::size_t>(call.rank()), block));
  co_return kOk;
}

}  // namespace

const Algorithm scatter_cells = {"cells", serves(Operation::kScatter), &shared::blocks_fit, &run, Sharing::kFlagLines};

}  // namespace hr::coll

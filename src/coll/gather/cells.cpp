// Gather through shared flag lines: each process publishes its block with its flag, and the root copies the blocks.
// Only the root waits.
#include "coll/registry.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return has_flag_lines(query) && query.bytes <= shared::kRoomBytes; }

Task run(const Call& call) {
  View block;
  if (!call.is_root()) {
    shared::FlagLinesFree free{call};
    HR_CO_UNTIL(call, free);
    HR_CO_TRY(call.send.block(0, &block));
    HR_CO_TRY(shared::publish_packed(call, block));
    co_return kOk;
  }
  HR_CO_TRY(copy_block(call.send, 0, call.recv, call.rank()));
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  co_return shared::take_blocks(call);
}

}  // namespace

const Algorithm gather_cells = {"cells", serves(Operation::kGather), &probe, &run, Sharing::kFlagLines};

}  // namespace hr::coll

// Allgather through shared flag lines: each process publishes its block with its flag and copies all others.
#include "coll/registry.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll {
namespace {

// For allgatherv, only the mean size of the blocks is known: a single block may be long, provided that all blocks
// together fit.
bool probe(const Query& query) noexcept {
  if (query.operation == Operation::kAllgatherv) return shared::blocks_fit(query);
  return has_flag_lines(query) && query.bytes <= shared::kRoomBytes;
}

Task run(const Call& call) {
  View block;
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  if (call.in_place) {
    HR_CO_TRY(call.recv.block(call.rank(), &block));
  } else {
    HR_CO_TRY(call.send.block(0, &block));
  }
  HR_CO_TRY(shared::publish_packed(call, block));
  HR_CO_TRY(copy_block(call.send, 0, call.recv, call.rank()));
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  co_return shared::take_blocks(call);
}

}  // namespace

const Algorithm allgather_cells = {"cells", serves(Operation::kAllgather, Operation::kAllgatherv), &probe, &run,
                                   Sharing::kFlagLines};

}  // namespace hr::coll

// Barrier through shared flag lines: each process raises a flag and waits for all others.
#include "coll/registry.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  shared::publish(call, 0);
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.segment->note_all_arrived(call.sequence_number);
  co_return kOk;
}

}  // namespace

const Algorithm barrier_cells = {"cells", serves(Operation::kBarrier), &has_flag_lines, &run, Sharing::kFlagLines};

}  // namespace hr::coll

// Allreduce through shared flag lines by one process: rank 0 combines all vectors and publishes the result. For
// processes that share cores, where combining everything on each would be p times as much work.
#include "coll/registry.hpp"
#include "coll/shared/reduce_flag_lines.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const View& result = call.recv.all();
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  shared::FlagLines& own = shared::own_flag_lines(call);
  HR_CO_TRY(shared::write_vector(contribution(call), own));
  const shared::FlagLineVectors vectors(call, 0, result.count);
  if (call.rank() == 0) {
    shared::FlagsArrived arrived = shared::others_arrived(call);
    HR_CO_UNTIL(call, arrived);
    HR_CO_TRY(vectors.combine_all(result.address));
    HR_CO_TRY(shared::write_vector(result, own));
    shared::publish(call, own);
  } else {
    shared::publish(call, own);
    shared::FlagArrived combined{call, 0};
    HR_CO_UNTIL(call, combined);
    HR_CO_TRY(vectors.copy(0, result.address));
  }
  call.segment->note_all_arrived(call.sequence_number);
  co_return kOk;
}

}  // namespace

const Algorithm allreduce_cells_root = {"cells_root", serves(Operation::kAllreduce), &shared::vector_fits, &run,
                                        Sharing::kFlagLines};

}  // namespace hr::coll

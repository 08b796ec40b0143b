// Allreduce through shared flag lines: each process publishes its vector with its flag and combines all vectors, in the
// same order everywhere. This takes one exchange of cache lines, but every process combines p vectors.
#include "coll/registry.hpp"
#include "coll/shared/reduce_flag_lines.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_vector(call));
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.segment->note_all_arrived(call.sequence_number);
  const View& result = call.recv.all();
  const shared::FlagLineVectors vectors(call, 0, result.count);
  co_return vectors.combine_all(result.address);
}

}  // namespace

const Algorithm allreduce_cells = {"cells", serves(Operation::kAllreduce), &shared::vector_fits, &run,
                                   Sharing::kFlagLines};

}  // namespace hr::coll

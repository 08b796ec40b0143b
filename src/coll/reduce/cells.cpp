// Reduce through shared flag lines: each process publishes its vector with its flag, and the root combines them. Only
// the root waits.
#include "coll/registry.hpp"
#include "coll/shared/reduce_flag_lines.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_vector(call));
  if (!call.is_root()) co_return kOk;
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.segment->note_all_arrived(call.sequence_number);
  const int top = call.op->commutative() ? call.root : 0;
  const View& result = call.recv.all();
  const shared::FlagLineVectors vectors(call, 0, result.count);
  co_return vectors.combine_tree(shared::TreeOrder::binomial(call.size(), top), result.address);
}

}  // namespace

const Algorithm reduce_cells = {"cells", serves(Operation::kReduce), &shared::vector_fits, &run, Sharing::kFlagLines};

}  // namespace hr::coll

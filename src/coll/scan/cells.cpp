// Scan and exscan through shared flag lines: each process publishes its vector with its flag and combines the vectors
// of the lower ranks (for scan, also its own).
#include "coll/registry.hpp"
#include "coll/shared/reduce_flag_lines.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_vector(call));
  shared::FlagsArrived arrived{call, 0, call.rank()};
  HR_CO_UNTIL(call, arrived);
  const int vectors = call.operation == Operation::kScan ? call.rank() + 1 : call.rank();
  if (vectors == 0) co_return kOk;  // the result of exscan on rank 0 is undefined
  const View& result = call.recv.all();
  const shared::FlagLineVectors cells(call, 0, result.count);
  co_return cells.combine_tree(shared::TreeOrder::binomial(vectors, 0), result.address);
}

}  // namespace

const Algorithm scan_cells = {"cells", serves(Operation::kScan, Operation::kExscan), &shared::vector_fits, &run,
                              Sharing::kFlagLines};

}  // namespace hr::coll

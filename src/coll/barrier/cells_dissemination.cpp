// Barrier by dissemination through shared flag lines: in step k each process raises a flag for the rank 2^k after it,
// and waits for the flag of the rank 2^k before it. For many processes: otherwise each would have to read every flag.
#include "coll/registry.hpp"
#include "coll/shared/partials.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept {
  return query.ranks > 1 && shared::partials_fit(query, shared::doublings(query.ranks) - 1, 0);
}

Task run(const Call& call) {
  const int size = call.size();
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  for (int step = 0, distance = 1; distance < size; ++step, distance *= 2) {
    shared::publish_step(call, step, 0);
    shared::PartialThere there{call, (call.rank() - distance + size) % size, step};
    HR_CO_UNTIL(call, there);
  }
  call.segment->note_all_arrived(call.sequence_number);
  co_return kOk;
}

}  // namespace

const Algorithm barrier_cells_dissemination = {"cells_dissemination", serves(Operation::kBarrier), &probe, &run,
                                               Sharing::kFlagLines};

}  // namespace hr::coll

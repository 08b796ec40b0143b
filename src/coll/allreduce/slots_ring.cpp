// Allreduce of long vectors: parts of the result pass along a ring of data slots, and all processes copy them from
// there.
#include "coll/registry.hpp"
#include "coll/shared/ring_data_slots.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) { return shared::reduce_along_ring(call, true); }

}  // namespace

const Algorithm allreduce_slots_ring = {"slots_ring", serves(Operation::kAllreduce), &shared::parts_fit_data_slots,
                                        &run, Sharing::kDataSlots};

}  // namespace hr::coll

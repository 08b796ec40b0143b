// Reduce of long vectors: parts of the result pass along a ring of data slots, and the root copies them from there.
#include "coll/registry.hpp"
#include "coll/shared/ring_data_slots.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) { return shared::reduce_along_ring(call, call.is_root()); }

}  // namespace

const Algorithm reduce_slots_ring = {"slots_ring", serves(Operation::kReduce), &shared::parts_fit_data_slots, &run,
                                     Sharing::kDataSlots};

}  // namespace hr::coll

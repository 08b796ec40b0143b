// Allreduce of long vectors by reading: every process combines its part of everybody's, and all read the parts.
#include "coll/registry.hpp"
#include "coll/shared/reduce_direct.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) { return shared::reduce_by_reading(call, true, allreduce_slots); }

}  // namespace

const Algorithm allreduce_direct = shared::direct(Operation::kAllreduce, &run, &shared::can_reduce_by_reading);

}  // namespace hr::coll

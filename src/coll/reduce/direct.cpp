// Reduce of long vectors by reading: every process combines its part of everybody's, and the root reads the parts.
#include "coll/registry.hpp"
#include "coll/shared/reduce_direct.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) { return shared::reduce_by_reading(call, call.is_root(), reduce_slots); }

}  // namespace

const Algorithm reduce_direct = shared::direct(Operation::kReduce, &run, &shared::can_reduce_by_reading);

}  // namespace hr::coll

// Allgather by everybody reading everybody's block where it lies.
#include "coll/shared/direct.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const Count count = call.recv.count(0);
  const View own = call.in_place ? slice(call.recv.all(), call.rank() * count, count) : call.send.all();
  return shared::read_or_else(call, {.own = {shared::readable_address(own), 0, own.packed},
                                     .read = &shared::read_blocks,
                                     .otherwise = allgather_slots});
}

}  // namespace

const Algorithm allgather_direct = shared::direct(Operation::kAllgather, &run);

}  // namespace hr::coll

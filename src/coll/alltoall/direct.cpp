// Alltoall by everybody reading its block of everybody's where it lies.
#include "coll/shared/direct.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return shared::can_read(query) && !query.in_place; }

Task run(const Call& call) {
  return shared::read_or_else(call, {.own = {shared::readable_address(call.send.all()), 0, call.send.bytes(0)},
                                     .read = &shared::read_blocks,
                                     .otherwise = alltoall_slots,
                                     .block = call.rank()});
}

}  // namespace

const Algorithm alltoall_direct = shared::direct(Operation::kAlltoall, &run, &probe);

}  // namespace hr::coll

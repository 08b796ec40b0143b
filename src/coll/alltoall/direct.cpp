// Alltoall by everybody reading its block of everybody's where it lies.
#include "coll/shared/direct.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return shared::can_read(query) && !query.in_place; }

Status read(const Call& call) { return shared::read_blocks(call, call.rank()); }

Task run(const Call& call) {
  return shared::read_or_else(call, {.own = {shared::readable_address(call.send.all()), 0, call.send.bytes(0)},
                                     .read = &read,
                                     .otherwise = alltoall_slots});
}

}  // namespace

const Algorithm alltoall_direct = shared::direct(Operation::kAlltoall, &run, &probe);

}  // namespace hr::coll

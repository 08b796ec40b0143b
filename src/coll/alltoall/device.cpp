// Alltoall by GPUs: each one fetches its block from everybody's buffer, its right neighbour's first so that not all
// read from one. Not in place: a block would overwrite what its owner has still to give.
#include "coll/device/members.hpp"
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::Members;

Status start(const Call& call, Members& members) {
  Members::Reach own;
  HR_TRY(members.reach(call, call.rank(), &own));
  const std::size_t bytes = call.recv.bytes(0);
  const std::uint64_t mine = static_cast<std::uint64_t>(call.rank()) * bytes;
  for (int i = 1; i <= call.size(); ++i) {
    const int rank = (call.rank() + i) % call.size();
    Members::Reach from;
    HR_TRY(members.reach(call, rank, &from));
    HR_TRY(members.work().copy(members.near(), i, own.recv + static_cast<std::uint64_t>(rank) * bytes, from.send + mine,
                               bytes));
  }
  return kOk;
}

Task run(const Call& call) { return Members::carry_out(call, &start); }

bool probe(const Query& query) noexcept { return on_devices(query) && !query.in_place; }

}  // namespace

const Algorithm alltoall_device = {"device", serves(Operation::kAlltoall), &probe, &run, Sharing::kCells, true};

}  // namespace hr::coll

// Allgather by GPUs: each one fetches everybody's block, its right neighbour's first so that not all read from one.
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
  for (int i = 1; i <= call.size(); ++i) {
    const int rank = (call.rank() + i) % call.size();
    if (rank == call.rank() && call.in_place) continue;
    Members::Reach from;
    HR_TRY(members.reach(call, rank, &from));
    const std::uint64_t offset = static_cast<std::uint64_t>(rank) * bytes;
    HR_TRY(members.work().copy(members.near(), i, own.recv + offset, call.in_place ? from.recv + offset : from.send,
                               bytes));
  }
  return kOk;
}

Task run(const Call& call) { return Members::carry_out(call, &start); }

}  // namespace

const Algorithm allgather_device = {"device", serves(Operation::kAllgather), &on_devices, &run, Sharing::kCells, true};

}  // namespace hr::coll

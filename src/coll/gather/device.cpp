// Gather by GPUs: everybody stores its block at the root.
#include "coll/device/members.hpp"
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::Members;

Status start(const Call& call, Members& members) {
  if (call.is_root() && call.in_place) return kOk;
  Members::Reach own;
  Members::Reach root;
  HR_TRY(members.reach(call, call.rank(), &own));
  HR_TRY(members.reach(call, call.root, &root));
  const std::size_t bytes = call.send.bytes(0);
  return members.work().copy(members.near(), 0, root.recv + static_cast<std::uint64_t>(call.rank()) * bytes, own.send,
                             bytes);
}

Task run(const Call& call) { return Members::carry_out(call, &start); }

}  // namespace

const Algorithm gather_device = {"device", serves(Operation::kGather), &on_devices, &run, Sharing::kCells, true};

}  // namespace hr::coll

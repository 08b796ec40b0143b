// Bcast by GPUs: each one fetches the root's buffer.
#include "coll/device/members.hpp"
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::Members;

Status start(const Call& call, Members& members) {
  if (call.is_root()) return kOk;
  Members::Reach root;
  Members::Reach own;
  HR_TRY(members.reach(call, call.root, &root));
  HR_TRY(members.reach(call, call.rank(), &own));
  return members.work().copy(members.near(), 0, own.recv, root.recv, call.recv.all().packed);
}

Task run(const Call& call) { return Members::carry_out(call, &start); }

}  // namespace

const Algorithm bcast_device = {"device", serves(Operation::kBcast), &on_devices, &run, Sharing::kCells, true};

}  // namespace hr::coll

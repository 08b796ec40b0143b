// Broadcast by everybody reading the root's buffer.
#include "coll/shared/direct.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Status read_from_root(const Call& call, int) {
  if (call.is_root()) return kOk;
  const View& data = call.recv.all();
  const shared::Exposed exposed = shared::exposed_by(call, call.root);
  if (exposed.bytes > data.packed) {
    return fail(Errc::kTruncate, "the root broadcasts %llu bytes, this process has room for %zu",
                static_cast<unsigned long long>(exposed.bytes), data.packed);
  }
  return shared::read_from(call, call.root, exposed.send, data);
}

Task run(const Call& call) {
  const View& data = call.recv.all();
  return shared::read_or_else(call, {.own = {shared::readable_address(data), 0, data.packed},
                                     .read = &read_from_root,
                                     .otherwise = bcast_slots,
                                     .from_root = true});
}

}  // namespace

const Algorithm bcast_direct = shared::direct(Operation::kBcast, &run);

}  // namespace hr::coll

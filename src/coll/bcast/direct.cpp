// Broadcast by everybody reading the root's buffer.
#include "coll/shared/direct.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Status read_from_root(const Call& call, const shared::Exposed& exposed) {
  const View& data = call.recv.all();
  if (call.is_root()) return kOk;
  if (exposed.bytes > data.packed) {
    return fail(Errc::kTruncate, "the root broadcasts %llu bytes, this process has room for %zu",
                static_cast<unsigned long long>(exposed.bytes), data.packed);
  }
  return shared::read_from(call, call.root, exposed.send, data);
}

Task run(const Call& call) {
  const View& data = call.recv.all();
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  if (call.is_root()) shared::expose(call, {shared::readable_address(data), 0, data.packed});
  shared::CellArrived arrived{call, call.root};
  HR_CO_UNTIL(call, arrived);
  const shared::Exposed exposed = shared::exposed_by(call, call.root);
  bool done = exposed.send != 0;
  if (done) {
    const shared::Steps steps(call);
    Task concluding = shared::conclude(call, steps, &shared::Control::consumed, read_from_root(call, exposed), &done);
    HR_CO_TRY(co_await concluding);
  }
  if (done) co_return kOk;
  Task slots = bcast_slots.run(call);
  const Status status = co_await slots;
  co_return status;
}

}  // namespace

const Algorithm bcast_direct = {.name = "direct",
                                .operations = serves(Operation::kBcast),
                                .probe = &shared::can_read,
                                .run = &run,
                                .needs = Sharing::kSlots,
                                .reads = true};

}  // namespace hr::coll

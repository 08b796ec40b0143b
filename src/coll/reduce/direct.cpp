// Reduce of long vectors by reading: every process combines its part of everybody's vector, and the root reads the
// parts.
#include "coll/registry.hpp"
#include "coll/shared/reduce_direct.hpp"

namespace hr::coll {
namespace {

Status read_parts(const Call& call, const Cut& cut) {
  if (!call.is_root()) return kOk;
  for (int step = 1; step < call.size(); ++step) {
    const int from = (call.rank() + step) % call.size();
    HR_TRY(shared::read_from(call, from, shared::exposed_by(call, from).recv, cut.of(call.recv.all(), from)));
  }
  return kOk;
}

Task run(const Call& call) {
  const View& vector = contribution(call);
  const Cut cut{vector.count, call.size()};
  const View contributed = cut.of(vector, call.rank());
  // The combined part: apart from the root's contribution in place, which is needed again if reading fails somewhere.
  TypedScratch room(contributed.count, *contributed.type);
  const View& own = room.view();
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  shared::expose(call, {shared::readable_address(vector), shared::readable_address(own), vector.packed});
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  bool done = shared::all_readable(call, true);
  if (done) {
    const shared::Steps steps(call);
    Task combining = shared::conclude(call, steps, &shared::Control::published,
                                      shared::combine_by_reading(call, contributed, own), &done);
    HR_CO_TRY(co_await combining);
    if (done) {
      Task reading = shared::conclude(call, steps, &shared::Control::consumed, read_parts(call, cut), &done);
      HR_CO_TRY(co_await reading);
      if (done && call.is_root()) HR_CO_TRY(layout::copy(own, cut.of(call.recv.all(), call.rank())));
    }
  }
  if (done) co_return kOk;
  Task slots = reduce_slots.run(call);
  const Status status = co_await slots;
  co_return status;
}

}  // namespace

const Algorithm reduce_direct = {.name = "direct",
                                 .operations = serves(Operation::kReduce),
                                 .probe = &shared::can_reduce_by_reading,
                                 .run = &run,
                                 .needs = Sharing::kSlots,
                                 .reads = true};

}  // namespace hr::coll

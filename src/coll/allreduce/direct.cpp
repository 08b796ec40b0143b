// Allreduce of long vectors by reading: every process combines its part of everybody's vector, then reads the other
// parts of the result where they were made.
#include "coll/registry.hpp"
#include "coll/shared/reduce_direct.hpp"

namespace hr::coll {
namespace {

Status read_parts(const Call& call, const Cut& cut) {
  const View& result = call.recv.all();
  for (int step = 1; step < call.size(); ++step) {
    const int from = (call.rank() + step) % call.size();
    const auto offset = static_cast<std::uint64_t>(cut.begin(from) * result.type->size());
    HR_TRY(shared::read_from(call, from, shared::exposed_by(call, from).recv + offset, cut.of(result, from)));
  }
  return kOk;
}

Task run(const Call& call) {
  const View& vector = contribution(call);
  const View& result = call.recv.all();
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  shared::expose(call, {shared::readable_address(vector), shared::readable_address(result), vector.packed});
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  bool done = shared::all_readable(call, true);
  if (done) {
    const shared::Steps steps(call);
    const Cut cut{result.count, call.size()};
    const View own = cut.of(result, call.rank());
    const View contributed = cut.of(vector, call.rank());
    // In place the result takes the contribution's room, which is needed again if reading fails somewhere.
    TypedScratch saved(call.in_place ? own.count : 0, *own.type);
    if (call.in_place) HR_CO_TRY(layout::copy(contributed, saved.view()));
    const View& operand = call.in_place ? saved.view() : contributed;
    Task combining = shared::conclude(call, steps, &shared::Control::published,
                                      shared::combine_by_reading(call, operand, own), &done);
    HR_CO_TRY(co_await combining);
    if (done) {
      Task reading = shared::conclude(call, steps, &shared::Control::consumed, read_parts(call, cut), &done);
      HR_CO_TRY(co_await reading);
    } else if (call.in_place) {
      HR_CO_TRY(layout::copy(saved.view(), own));
    }
  }
  if (done) co_return kOk;
  Task slots = allreduce_slots.run(call);
  const Status status = co_await slots;
  co_return status;
}

}  // namespace

const Algorithm allreduce_direct = {.name = "direct",
                                    .operations = serves(Operation::kAllreduce),
                                    .probe = &shared::can_reduce_by_reading,
                                    .run = &run,
                                    .needs = Sharing::kSlots,
                                    .reads = true};

}  // namespace hr::coll

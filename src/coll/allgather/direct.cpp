// Allgather by everybody reading everybody's block where it lies.
#include "coll/shared/direct.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Status read_blocks(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  for (int step = 1; step < size; ++step) {
    const int from = (rank + step) % size;
    const shared::Exposed exposed = shared::exposed_by(call, from);
    View block;
    HR_TRY(call.recv.block(from, &block));
    if (exposed.bytes != block.packed) {
      return fail(Errc::kTruncate, "rank %d sends %llu bytes where this process expects %zu", from,
                  static_cast<unsigned long long>(exposed.bytes), block.packed);
    }
    HR_TRY(shared::read_from(call, from, exposed.send, block));
  }
  return kOk;
}

Task run(const Call& call) {
  View block;
  if (call.in_place) {
    HR_CO_TRY(call.recv.block(call.rank(), &block));
  } else {
    HR_CO_TRY(call.send.block(0, &block));
  }
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  shared::expose(call, {shared::readable_address(block), 0, block.packed});
  HR_CO_TRY(copy_block(call.send, 0, call.recv, call.rank()));
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  bool done = shared::all_readable(call, false);
  if (done) {
    const shared::Steps steps(call);
    Task concluding = shared::conclude(call, steps, &shared::Control::consumed, read_blocks(call), &done);
    HR_CO_TRY(co_await concluding);
  }
  if (done) co_return kOk;
  Task slots = allgather_slots.run(call);
  const Status status = co_await slots;
  co_return status;
}

}  // namespace

const Algorithm allgather_direct = {.name = "direct",
                                    .operations = serves(Operation::kAllgather),
                                    .probe = &shared::can_read,
                                    .run = &run,
                                    .needs = Sharing::kSlots,
                                    .reads = true};

}  // namespace hr::coll

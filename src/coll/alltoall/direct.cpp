// Alltoall by everybody reading its block of everybody's where it lies.
#include "coll/shared/direct.hpp"

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return shared::can_read(query) && !query.in_place; }

Status read_blocks(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  HR_TRY(copy_block(call.send, rank, call.recv, rank));
  for (int step = 1; step < size; ++step) {
    const int from = (rank + step) % size;
    const shared::Exposed exposed = shared::exposed_by(call, from);
    View block;
    HR_TRY(call.recv.block(from, &block));
    if (exposed.bytes != block.packed) {
      return fail(Errc::kTruncate, "rank %d sends %llu bytes where this process expects %zu", from,
                  static_cast<unsigned long long>(exposed.bytes), block.packed);
    }
    const std::uint64_t own = exposed.bytes * static_cast<std::uint64_t>(rank);
    HR_TRY(shared::read_from(call, from, exposed.send + own, block));
  }
  return kOk;
}

Task run(const Call& call) {
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  shared::expose(call, {shared::readable_address(call.send.all()), 0, call.send.bytes(0)});
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
  Task slots = alltoall_slots.run(call);
  const Status status = co_await slots;
  co_return status;
}

}  // namespace

const Algorithm alltoall_direct = {.name = "direct",
                                   .operations = serves(Operation::kAlltoall),
                                   .probe = &probe,
                                   .run = &run,
                                   .needs = Sharing::kSlots,
                                   .reads = true};

}  // namespace hr::coll

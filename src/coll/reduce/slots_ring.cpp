// Reduce of long vectors: parts of the result pass along a ring of slots, and the root takes them from there.
#include "coll/registry.hpp"
#include "coll/shared/ring_slots.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const shared::RingRounds ring(call);
  const shared::Rounds& rounds = ring.rounds();
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    Task adding = shared::add_to_parts(call, ring, round);
    HR_CO_TRY(co_await adding);
    for (int distance = 1; distance <= call.size() && call.is_root(); ++distance) {
      const int part = (call.rank() + distance) % call.size();
      shared::StepReached complete = ring.complete(part, round);
      HR_CO_UNTIL(call, complete);
      HR_CO_TRY(layout::copy(ring.combined(part, round), ring.piece(call.recv.all(), part, round)));
    }
    rounds.took(round + 1);
  }
  co_return kOk;
}

}  // namespace

const Algorithm reduce_slots_ring = {"slots_ring", serves(Operation::kReduce), &shared::parts_pass_slots, &run,
                                     Sharing::kSlots};

}  // namespace hr::coll

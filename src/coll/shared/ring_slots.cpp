#include "coll/shared/ring_slots.hpp"

namespace hr::coll::shared {

Task add_to_parts(const Call& call, const RingRounds& ring, std::uint64_t round) {
  const int size = call.size();
  const int rank = call.rank();
  const Rounds& rounds = ring.rounds();
  const View& vector = contribution(call);
  Rounds::Writable writable = rounds.writable(round);
  HR_CO_UNTIL(call, writable);
  HR_CO_TRY(copy_in(ring.piece(vector, rank, round), ring.combined(rank, round)));
  rounds.wrote(ring.steps(round, 1));
  for (int distance = 1; distance < size; ++distance) {
    const int part = (rank - distance + size) % size;
    StepReached before = rounds.written((rank - 1 + size) % size, ring.steps(round, distance));
    HR_CO_UNTIL(call, before);
    const View own = ring.piece(vector, part, round);
    if (own.count > 0) HR_CO_TRY(combine(call, own, ring.combined(part, round)));
    rounds.wrote(ring.steps(round, distance + 1));
  }
  co_return kOk;
}

}  // namespace hr::coll::shared

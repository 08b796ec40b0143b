// Reduce of long vectors through data slots: in each round every process combines its part of all vectors, in its own
// data slot, and the root copies the combined parts.
#include "coll/registry.hpp"
#include "coll/shared/reduce_data_slots.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const shared::VectorRounds vectors(call);
  const shared::Rounds& rounds = vectors.rounds();
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    shared::Rounds::Writable writable = rounds.writable(round, 2);
    HR_CO_UNTIL(call, writable);
    HR_CO_TRY(vectors.write(round));
    rounds.wrote(2 * round + 1);

    const View own = vectors.in_data_slot(rank, rank, round);
    View operand = vectors.piece(contribution(call), rank, round);
    for (int step = 1; step < size; ++step) {
      const int from = (rank + step) % size;
      shared::StepReached written = rounds.written(from, 2 * round + 1);
      HR_CO_UNTIL(call, written);
      if (own.count > 0) HR_CO_TRY(combine_to(call, vectors.in_data_slot(from, rank, round), operand, own));
      operand = own;
    }
    rounds.wrote(2 * round + 2);

    for (int step = 0; step < size && call.is_root(); ++step) {
      const int from = (rank + step) % size;
      shared::StepReached combined = rounds.written(from, 2 * round + 2);
      HR_CO_UNTIL(call, combined);
      HR_CO_TRY(layout::copy(vectors.in_data_slot(from, from, round), vectors.piece(call.recv.all(), from, round)));
    }
    rounds.took(2 * round + 2);
  }
  co_return kOk;
}

}  // namespace

const Algorithm reduce_slots = {"slots", serves(Operation::kReduce), &shared::vector_fits_data_slots, &run,
                                Sharing::kDataSlots};

}  // namespace hr::coll

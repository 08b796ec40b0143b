// Allreduce of long vectors through data slots: in each round every process combines its part of all vectors, and all
// copy the combined parts. The vector passes through shared memory twice, regardless of p.
//
// Three rounds are in progress at once, one in each stage, so that the data that a process waits for was written some
// time ago. Step k writes round k, combines round k - 1 and copies the result of round k - 2.
#include "coll/registry.hpp"
#include "coll/shared/reduce_data_slots.hpp"

namespace hr::coll {
namespace {

// Values of `published` once the round of step k is written, and once the previous round is combined.
constexpr std::uint64_t written_at(std::uint64_t step) noexcept { return 2 * step + 1; }
constexpr std::uint64_t combined_at(std::uint64_t step) noexcept { return 2 * step + 2; }

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const View& result = call.recv.all();
  const shared::VectorRounds vectors(call);
  const shared::Rounds& rounds = vectors.rounds();
  for (std::uint64_t step = 0; step < rounds.count() + 2; ++step) {
    if (step < rounds.count()) {
      shared::Rounds::Writable writable = rounds.writable(step);
      HR_CO_UNTIL(call, writable);
      HR_CO_TRY(vectors.write(step));
      rounds.wrote(written_at(step));
    }
    if (step >= 1 && step <= rounds.count()) {
      const std::uint64_t round = step - 1;
      const View own = vectors.piece(result, rank, round);
      View operand = vectors.piece(contribution(call), rank, round);
      for (int distance = 1; distance < size; ++distance) {
        const int from = (rank + distance) % size;
        shared::StepReached written = rounds.written(from, written_at(round));
        HR_CO_UNTIL(call, written);
        if (own.count > 0) HR_CO_TRY(combine_to(call, vectors.in_data_slot(from, rank, round), operand, own));
        operand = own;
      }
      HR_CO_TRY(layout::copy(own, vectors.in_data_slot(rank, rank, round)));
      rounds.wrote(combined_at(step));
    }
    if (step >= 2) {
      const std::uint64_t round = step - 2;
      for (int distance = 1; distance < size; ++distance) {
        const int from = (rank + distance) % size;
        shared::StepReached combined = rounds.written(from, combined_at(round + 1));
        HR_CO_UNTIL(call, combined);
        HR_CO_TRY(layout::copy(vectors.in_data_slot(from, from, round), vectors.piece(result, from, round)));
      }
      rounds.took(round + 1);
    }
  }
  co_return kOk;
}

}  // namespace

const Algorithm allreduce_slots = {"slots", serves(Operation::kAllreduce), &shared::vector_fits_data_slots, &run,
                                   Sharing::kDataSlots};

}  // namespace hr::coll

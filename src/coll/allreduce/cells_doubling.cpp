// Allreduce by recursive doubling through shared flag lines: like recursive_doubling.cpp, but each process reads its
// partner's partial result from shared memory. It takes log2 p steps and combinations, whereas `cells` takes one step
// and p combinations. For many processes, each with its own core.
#include "coll/doubling.hpp"
#include "coll/registry.hpp"
#include "coll/shared/partials.hpp"

namespace hr::coll {
namespace {

// Returns the first step: the process of a pair that continues for both starts with its second partial result.
constexpr int first_step(const Doubling& doubling, int rank) noexcept { return rank < doubling.paired ? 1 : 0; }
// Returns the step in which the result is complete.
constexpr int last_step(const Doubling& doubling, int rank) noexcept {
  return first_step(doubling, rank) + shared::doublings(doubling.power);
}

// Returns the number of partial results that others may read, including the result if the other process of a pair reads
// it.
constexpr int places(int size) noexcept {
  const Doubling doubling(size);
  return last_step(doubling, 0) + (doubling.paired > 0 ? 1 : 0);
}

bool probe(const Query& query) noexcept {
  return query.ranks > 1 && shared::partials_fit(query, places(query.ranks) - 1, places(query.ranks));
}

// Waits for the result of the other process of the pair, which continues for both.
Task wait_for_result(const Call& call, const Doubling& doubling, const shared::Partials& partials) {
  const int other = call.rank() + 1;
  shared::PartialThere there{call, other, last_step(doubling, other)};
  HR_CO_UNTIL(call, there);
  std::byte* result = nullptr;
  HR_CO_TRY(partials.find(there, &result));
  call.segment->note_all_arrived(call.sequence_number);
  co_return partials.copy(result, call.recv.all().address);
}

Task run(const Call& call) {
  const Doubling doubling(call.size());
  const int rank = call.rank();
  std::byte* const result = call.recv.all().address;
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  const shared::Partials partials(call, places(call.size()));
  HR_CO_TRY(partials.publish_contribution());
  if (rank < doubling.paired && rank % 2 == 0) {
    Task waiting = wait_for_result(call, doubling, partials);
    const Status status = co_await waiting;
    co_return status;
  }

  std::byte* other = nullptr;
  if (rank < doubling.paired) {
    shared::PartialThere there{call, rank - 1, 0};
    HR_CO_UNTIL(call, there);
    HR_CO_TRY(partials.find(there, &other));
    HR_CO_TRY(partials.combine(other, partials.own(0), partials.own(1)));
    partials.publish(1);
  }
  const int position = doubling.position(rank);
  int step = first_step(doubling, rank);
  for (int bit = 1; bit < doubling.power; bit *= 2, ++step) {
    const int partner = doubling.rank_at(position ^ bit);
    shared::PartialThere there{call, partner, first_step(doubling, partner) + step - first_step(doubling, rank)};
    HR_CO_UNTIL(call, there);
    HR_CO_TRY(partials.find(there, &other));
    const bool last = 2 * bit == doubling.power;
    std::byte* const mine = partials.own(step);
    std::byte* const to = last && rank >= doubling.paired ? result : partials.own(step + 1);
    const bool lower = (position & bit) != 0;
    HR_CO_TRY(partials.combine(lower ? other : mine, lower ? mine : other, to));
    if (!last || rank < doubling.paired) partials.publish(step + 1);
  }
  call.segment->note_all_arrived(call.sequence_number);
  if (rank < doubling.paired) co_return partials.copy(partials.own(step), result);
  co_return kOk;
}

}  // namespace

const Algorithm allreduce_cells_doubling = {"cells_doubling", serves(Operation::kAllreduce), &probe, &run,
                                            Sharing::kFlagLines};

}  // namespace hr::coll

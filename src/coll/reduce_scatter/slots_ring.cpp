// Reduce-scatter of long vectors: every part passes along a ring of data slots, as in shared/ring_data_slots.hpp, and
// its owner copies it. The ring runs downwards, so that operands are combined in the order of `pairwise`: part p starts
// with the operand of rank p, followed by that of rank p - 1.
#include <algorithm>
#include <vector>

#include "coll/registry.hpp"
#include "coll/shared/ring_data_slots.hpp"

namespace hr::coll {
namespace {

// Returns the start of each part, and the end of the last one.
std::vector<Count> beginnings(const Call& call) {
  std::vector<Count> begin{0};
  for (int part = 0; part < call.size(); ++part) begin.push_back(begin.back() + call.send.count(part));
  return begin;
}

Count longest(const std::vector<Count>& begin) noexcept {
  Count most = 0;
  for (std::size_t part = 0; part + 1 < begin.size(); ++part) most = std::max(most, begin[part + 1] - begin[part]);
  return most;
}

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const View& vector = call.send.all();
  const View& result = call.recv.all();
  const std::vector<Count> begin = beginnings(call);
  const Count elements = typed_capacity(call.segment->data_slot_bytes(), *vector.type);
  const shared::Rounds rounds(call, static_cast<std::uint64_t>((longest(begin) + elements - 1) / elements));
  // If in place, the result would overwrite parts that are still to be added.
  TypedScratch room(call.in_place ? result.count : 0, *result.type);
  const View mine = call.in_place ? room.view() : result;

  const auto piece = [&](int part, std::uint64_t round) {
    const Count first = begin[static_cast<std::size_t>(part)] + static_cast<Count>(round) * elements;
    const Count end = begin[static_cast<std::size_t>(part) + 1];
    return slice(vector, std::min(first, end), std::clamp<Count>(end - first, 0, elements));
  };
  const auto combined = [&](int part, std::uint64_t round) {
    return typed_view(rounds.data_slot(part, round), piece(part, round).count, *vector.type);
  };
  const int next = (rank + 1) % size;
  std::uint64_t steps = 0;
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    shared::Rounds::Writable writable = rounds.writable(round);
    HR_CO_UNTIL(call, writable);
    HR_CO_TRY(layout::copy(piece(rank, round), combined(rank, round)));
    rounds.wrote(++steps);
    for (int part = next; part != rank; part = (part + 1) % size) {
      shared::StepReached before = rounds.written(next, steps);
      HR_CO_UNTIL(call, before);
      const View own = piece(part, round);
      if (own.count > 0) HR_CO_TRY(combine(call, own, combined(part, round)));
      rounds.wrote(++steps);
    }
    shared::StepReached complete = rounds.written(next, steps);
    HR_CO_UNTIL(call, complete);
    const View from = combined(rank, round);
    HR_CO_TRY(layout::copy(from, slice(mine, std::min(static_cast<Count>(round) * elements, mine.count), from.count)));
    rounds.took(round + 1);
  }
  if (call.in_place) HR_CO_TRY(layout::copy(mine, result));
  co_return kOk;
}

}  // namespace

const Algorithm reduce_scatter_slots_ring = {"slots_ring",
                                             serves(Operation::kReduceScatter, Operation::kReduceScatterBlock),
                                             &shared::parts_fit_data_slots, &run, Sharing::kDataSlots};

}  // namespace hr::coll

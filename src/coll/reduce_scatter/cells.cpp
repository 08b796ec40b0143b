// Reduce-scatter through shared cells: everybody puts its vector into its cell and combines its own part of all. In two
// orders of operands, those of the algorithms of the same names that send messages.
#include "coll/registry.hpp"
#include "coll/shared/reduce_cells.hpp"

namespace hr::coll {
namespace {

Status combine_ordered(const Call& call, Count first, const View& result) {
  return shared::combine_tree(call, shared::TreeOrder::binomial(call.size(), 0), first, result);
}

Status combine_pairwise(const Call& call, Count first, const View& result) {
  const int size = call.size();
  View part;
  HR_TRY(shared::vector_of(call, call.rank(), first, result.count, &part));
  HR_TRY(layout::copy(part, result));
  for (int step = 1; step < size; ++step) {
    HR_TRY(shared::vector_of(call, (call.rank() - step + size) % size, first, result.count, &part));
    HR_TRY(combine(call, part, result));
  }
  return kOk;
}

template <Status (*kCombine)(const Call& call, Count first, const View& result)>
Task run(const Call& call) {
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_vector(call, call.send.all()));
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  Count first = 0;
  for (int before = 0; before < call.rank(); ++before) first += call.send.count(before);
  if (call.recv.all().count > 0) HR_CO_TRY(kCombine(call, first, call.recv.all()));
  co_return kOk;
}

bool fits_and_commutes(const Query& query) noexcept { return shared::vector_fits(query) && query.commutative; }

constexpr std::uint32_t kServed = serves(Operation::kReduceScatter, Operation::kReduceScatterBlock);

}  // namespace

const Algorithm reduce_scatter_cells_ordered = {"cells_ordered", kServed, &shared::vector_fits, &run<combine_ordered>,
                                                Sharing::kCells};
const Algorithm reduce_scatter_cells_pairwise = {"cells_pairwise", kServed, &fits_and_commutes, &run<combine_pairwise>,
                                                 Sharing::kCells};

}  // namespace hr::coll

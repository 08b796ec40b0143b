// Reduce-scatter through shared flag lines: each process publishes its vector with its flag and combines its own part
// of all vectors. There are two algorithms, which use the operand orders of `pairwise` and `ordered`.
#include "coll/registry.hpp"
#include "coll/shared/reduce_flag_lines.hpp"

namespace hr::coll {
namespace {

Status combine_ordered(const Call& call, const shared::FlagLineVectors& vectors, std::byte* result) {
  return vectors.combine_tree(shared::TreeOrder::binomial(call.size(), 0), result);
}

Status combine_pairwise(const Call& call, const shared::FlagLineVectors& vectors, std::byte* result) {
  const int size = call.size();
  HR_TRY(vectors.copy(call.rank(), result));
  for (int step = 1; step < size; ++step) {
    HR_TRY(vectors.combine_left((call.rank() - step + size) % size, result));
  }
  return kOk;
}

template <Status (*kCombine)(const Call& call, const shared::FlagLineVectors& vectors, std::byte* result)>
Task run(const Call& call) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(shared::publish_vector(call));
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.segment->note_all_arrived(call.sequence_number);
  Count first = 0;
  for (int before = 0; before < call.rank(); ++before) first += call.send.count(before);
  const View& result = call.recv.all();
  if (result.count == 0) co_return kOk;
  const shared::FlagLineVectors vectors(call, first, result.count);
  co_return kCombine(call, vectors, result.address);
}

bool fits_and_commutes(const Query& query) noexcept { return shared::vector_fits(query) && query.commutative; }

constexpr std::uint32_t kServed = serves(Operation::kReduceScatter, Operation::kReduceScatterBlock);

}  // namespace

const Algorithm reduce_scatter_cells_ordered = {"cells_ordered", kServed, &shared::vector_fits, &run<combine_ordered>,
                                                Sharing::kFlagLines};
const Algorithm reduce_scatter_cells_pairwise = {"cells_pairwise", kServed, &fits_and_commutes, &run<combine_pairwise>,
                                                 Sharing::kFlagLines};

}  // namespace hr::coll

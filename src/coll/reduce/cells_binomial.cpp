// Reduce up a binomial tree through shared flag lines: like binomial.cpp, but each process reads its children's partial
// results from shared memory. For many processes, each with its own core, where combining all vectors at the root would
// take long.
#include "coll/registry.hpp"
#include "coll/shared/partials.hpp"

namespace hr::coll {
namespace {

// Others read only the last partial of a process, and each partial is computed from the one before.
constexpr int kPlaces = 2;

bool probe(const Query& query) noexcept {
  return query.ranks > 1 && shared::partials_fit(query, shared::doublings(query.ranks), kPlaces);
}

// Returns the number of partial results that a process combines with its own before it publishes. `relative`: its rank
// relative to the tree's top.
constexpr int combinations(int relative, int size) noexcept {
  int count = 0;
  for (int bit = 1; bit < size && (relative & bit) == 0; bit *= 2) count += relative + bit < size ? 1 : 0;
  return count;
}

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const int top = call.op->commutative() ? call.root : 0;
  const int relative = (rank - top + size) % size;
  const int combined = combinations(relative, size);
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  const shared::Partials partials(call, kPlaces);
  if (combined == 0) {
    HR_CO_TRY(partials.publish_contribution());
  } else if (call.in_place) {
    HR_CO_TRY(partials.write_contribution());
  }
  int step = 0;
  for (int bit = 1; bit < size && (relative & bit) == 0; bit *= 2) {
    if (relative + bit >= size) continue;
    shared::PartialThere there{call, (rank + bit) % size, combinations(relative + bit, size)};
    HR_CO_UNTIL(call, there);
    std::byte* other = nullptr;
    HR_CO_TRY(partials.find(there, &other));
    const bool is_result = step + 1 == combined && relative == 0 && call.is_root();
    std::byte* const to = is_result ? call.recv.all().address : partials.own(step + 1);
    HR_CO_TRY(partials.combine(partials.own(step), other, to));
    ++step;
  }
  if (relative == 0) call.segment->note_all_arrived(call.sequence_number);
  if (combined > 0 && !(relative == 0 && call.is_root())) partials.publish(combined);
  if (!call.is_root() || relative == 0) co_return kOk;

  // The operation is not commutative, so rank 0 has the result.
  shared::PartialThere there{call, top, combinations(0, size)};
  HR_CO_UNTIL(call, there);
  std::byte* result = nullptr;
  HR_CO_TRY(partials.find(there, &result));
  co_return partials.copy(result, call.recv.all().address);
}

}  // namespace

const Algorithm reduce_cells_binomial = {"cells_binomial", serves(Operation::kReduce), &probe, &run,
                                         Sharing::kFlagLines};

}  // namespace hr::coll

#include "coll/shared/reduce_cells.hpp"

namespace hr::coll::shared {

Status publish_vector(const Call& call, const View& vector) {
  const std::size_t bytes = typed_bytes(vector.count, *vector.type);
  HR_TRY(layout::copy(vector, typed_view(own_cell(call).data(bytes), vector.count, *vector.type)));
  publish(call, bytes);
  return kOk;
}

Status vector_of(const Call& call, int rank, Count first, Count count, View* vector) {
  Cell& cell = cell_of(call, rank);
  const std::size_t own = own_cell(call).bytes;
  if (cell.bytes != own) [[unlikely]] {
    return fail(Errc::kTruncate, "%s: the vector of rank %d takes %llu bytes, this process's %zu", name(call.operation),
                rank, static_cast<unsigned long long>(cell.bytes), own);
  }
  const layout::Datatype& type = *contribution(call).type;
  *vector = slice(typed_view(cell.data(), contribution(call).count, type), first, count);
  return kOk;
}

namespace {

struct Tree {
  const Call& call;
  const TreeOrder& order;
  Count first;

  Status of_rank(int rank, Count count, View* vector) const {
    return vector_of(call, (rank + order.top) % call.size(), first, count, vector);
  }
  [[nodiscard]] bool is_one_rank(int leaf, int leaves) const noexcept { return leaves == 1 && leaf >= order.pairs; }

  // right = the vector of one rank, without copying it first, op right.
  Status combine_rank(int rank, const View& right) const {
    View left;
    HR_TRY(of_rank(rank, right.count, &left));
    return combine(call, left, right);
  }

  // target = leaves [leaf, leaf + leaves).
  Status reduce(int leaf, int leaves, const View& target) const {
    if (leaves == 1) {
      const int rank = leaf + (leaf < order.pairs ? leaf + 1 : order.pairs);  // the last one of the leaf
      View vector;
      HR_TRY(of_rank(rank, target.count, &vector));
      HR_TRY(layout::copy(vector, target));
      return leaf < order.pairs ? combine_rank(rank - 1, target) : kOk;
    }
    const int half = static_cast<int>(std::bit_ceil(static_cast<unsigned>(leaves)) / 2);
    HR_TRY(reduce(leaf + half, leaves - half, target));
    if (is_one_rank(leaf, half)) return combine_rank(leaf + order.pairs, target);
    TypedScratch room(target.count, *target.type);
    HR_TRY(reduce(leaf, half, room.view()));
    return combine(call, room.view(), target);
  }
};

}  // namespace

Status combine_tree(const Call& call, const TreeOrder& order, Count first, const View& result) {
  return Tree{call, order, first}.reduce(0, order.leaves, result);
}

}  // namespace hr::coll::shared

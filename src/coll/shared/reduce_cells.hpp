// Reductions of vectors that lie in cells, with the layout of their type so that every operation applies to them.
//
// Operands are combined in the order in which the algorithms by message combine them: a program gets the same bits
// whether it calls the blocking, the non-blocking or the persistent form, early or late (section 6.9.1 recommends it).
#pragma once

#include <bit>

#include "coll/reduction.hpp"
#include "coll/shared/cells.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool vector_fits(const Query& query) noexcept {
  return has_cells(query) && query.span <= kCellBytes;
}

// A vector becomes the own cell.
[[nodiscard]] Status publish_vector(const Call& call, const View& vector);
// Elements [first, first + count) of the vector in the cell of `rank`, which has arrived. MPI_ERR_TRUNCATE when it is
// not as long as this process's.
[[nodiscard]] Status vector_of(const Call& call, int rank, Count first, Count count, View* vector);

// A binary tree over `leaves`; the left half of a subtree is a power of two. The first `pairs` leaves are two ranks
// each. Leaf 0 starts with rank `top`.
struct TreeOrder {
  int leaves;
  int pairs;
  int top;
  // As recursive doubling does it (allreduce/recursive_doubling.cpp).
  [[nodiscard]] static TreeOrder doubling(int size) noexcept {
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    return {power, size - power, 0};
  }
  // As tree_reduce() does it; of ranks [0, leaves) when top is 0.
  [[nodiscard]] static TreeOrder binomial(int leaves, int top) noexcept { return {leaves, 0, top}; }
};

// result = the combined elements [first, first + result.count) of all vectors of the tree, which have arrived.
[[nodiscard]] Status combine_tree(const Call& call, const TreeOrder& order, Count first, const View& result);

}  // namespace hr::coll::shared

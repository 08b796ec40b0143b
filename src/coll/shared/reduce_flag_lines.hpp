// Reductions of vectors that lie beside flag lines. The vectors keep the layout of their type, so that every operation
// can be applied to them.
//
// Operands are combined in the same order as by the algorithms that send messages: a program gets the same bits whether
// it calls the blocking, the non-blocking or the persistent form, early or late (section 6.9.1 recommends it).
#pragma once

#include "coll/doubling.hpp"
#include "coll/reduction.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool vector_fits(const Query& query) noexcept {
  return has_flag_lines(query) && query.span <= kRoomBytes;
}

// Writes a vector, as long as this process's contribution, into this process's flag lines; FlagLinesFree must hold.
[[nodiscard]] Status write_vector(const Call& call, const View& vector);
// Copies the elements into shared memory of `bytes` bytes, with the layout of their type.
[[nodiscard]] Status write_elements(const View& vector, std::size_t bytes, std::byte* data);
// Publishes this process's contribution.
[[nodiscard]] inline Status publish_vector(const Call& call) {
  HR_TRY(write_vector(call, contribution(call)));
  publish_data(call, own_flag_lines(call).head.bytes);
  return kOk;
}

// Copies elements, which may have holes, from one origin to another.
Status copy_elements(std::byte* from, std::byte* to, Count count, const layout::Datatype& type);
// Returns MPI_ERR_TRUNCATE: a member's vector takes `bytes` bytes, this process's `expected`.
Status wrong_length(const Call& call, int rank, std::uint64_t bytes, std::size_t expected);

// A binary tree over `leaves` leaves; the number of leaves in the left half of a subtree is a power of two. The first
// `pairs` leaves are two ranks each. Leaf 0 starts with rank `top`.
struct TreeOrder {
  int leaves;
  int pairs;
  int top;
  // Returns the order of recursive doubling (allreduce/recursive_doubling.cpp).
  [[nodiscard]] static TreeOrder doubling(int size) noexcept {
    const Doubling doubling(size);
    return {doubling.power, doubling.paired / 2, 0};
  }
  // Returns the order of tree_reduce(); if top is 0, that of ranks [0, leaves).
  [[nodiscard]] static TreeOrder binomial(int leaves, int top) noexcept { return {leaves, 0, top}; }
};

// Combines elements [first, first + count) of the published vectors, which must have arrived; this process's own is
// among them. `to` and `right` are origins of `count` elements.
// Errors: MPI_ERR_TRUNCATE if a vector is not as long as this process's; those of the operation.
class FlagLineVectors {
 public:
  FlagLineVectors(const Call& call, Count first, Count count) noexcept;

  // Sets to = the vector of that rank.
  Status copy(int rank, std::byte* to) const;
  // Computes right = the vector of that rank op right.
  Status combine_left(int rank, std::byte* right) const;
  // Computes to = the vector of one rank op that of the other.
  Status combine_two(int left_rank, int right_rank, std::byte* to) const;
  // Computes to = all vectors of the tree, combined.
  Status combine_tree(const TreeOrder& order, std::byte* to) const { return subtree(order, 0, order.leaves, to); }

 private:
  Status find(int rank, std::byte** origin) const;
  Status subtree(const TreeOrder& order, int leaf, int leaves, std::byte* to) const;

  const Call& call_;
  const layout::Datatype& type_;
  Count count_;
  Count origin_;       // of the first element, from the start of a vector's data
  std::size_t bytes_;  // of a vector's data
  // Origin of the first element in the program's buffer, which is read instead of the published copy, because the copy
  // has left this core's nearest cache; null if the result overwrites the buffer.
  std::byte* own_;
};

}  // namespace hr::coll::shared

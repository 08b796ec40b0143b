// Reductions of vectors that are next to flag lines. The vectors keep the layout of their type, so that every operation
// can be applied to them.
//
// Operands are combined in the same order as by the algorithms that send messages: a program gets a bitwise identical
// result whether it calls the blocking, the non-blocking or the persistent form, early or late (as section 6.9.1
// recommends).
#pragma once

#include "coll/doubling.hpp"
#include "coll/reduction.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool vector_fits(const Query& query) noexcept {
  return has_flag_lines(query) && query.span <= kRoomBytes;
}

// Writes a vector that is as long as this process's contribution into this process's flag lines; FlagLinesFree must
// hold.
[[nodiscard]] Status write_vector(const View& vector, FlagLines& own);
// Copies the elements into `bytes` bytes of shared memory, with the layout of their type.
[[nodiscard]] Status write_elements(const View& vector, std::size_t bytes, std::byte* data);
// Publishes this process's contribution.
[[nodiscard]] inline Status publish_vector(const Call& call) {
  FlagLines& own = own_flag_lines(call);
  HR_TRY(write_vector(contribution(call), own));
  publish_data(call, own, own.head.bytes);
  return kOk;
}

// Copies elements, which may have holes, from one origin to another.
Status copy_elements(std::byte* from, std::byte* to, Count count, const layout::Datatype& type);
// Returns MPI_ERR_TRUNCATE: a member's vector is `bytes` bytes long, and this process's is `expected` bytes.
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
  // Returns the order of tree_reduce(); if top is 0, the order of ranks [0, leaves).
  [[nodiscard]] static TreeOrder binomial(int leaves, int top) noexcept { return {leaves, 0, top}; }
};

// Combines elements [first, first + count) of the published vectors, which must have arrived; this process's own is
// among them. `to` and `right` are origins of `count` elements.
// Errors: MPI_ERR_TRUNCATE if a vector is not as long as this process's; those of the operation.
class FlagLineVectors {
 public:
  FlagLineVectors(const Call& call, Count first, Count count) noexcept
      : FlagLineVectors(call, contribution(call), first, count) {}

  // Copies the vector of that rank to `to`.
  Status copy(int rank, std::byte* to) const;
  // Computes right = vector op right, with the vector of that rank.
  Status combine_left(int rank, std::byte* right) const;
  // Computes to = left op right, with the vectors of the two ranks.
  Status combine_two(int left_rank, int right_rank, std::byte* to) const;
  // Combines all vectors of the tree into `to`.
  Status combine_tree(const TreeOrder& order, std::byte* to) const { return subtree(order, 0, order.leaves, to); }
  // Combines all vectors into `to`, in the order of recursive doubling.
  Status combine_all(std::byte* to) const {
    return call_.size() == 2 ? combine_two(0, 1, to) : combine_tree(TreeOrder::doubling(call_.size()), to);
  }

 private:
  FlagLineVectors(const Call& call, const View& mine, Count first, Count count) noexcept
      : call_(call),
        type_(*mine.type),
        count_(count),
        origin_(typed_origin(mine.count, type_) + first * type_.extent()),
        bytes_(typed_bytes(mine)),  // the copy of the vector is in the flag line, which other cores hold by now
        own_(call.in_place || call.send.none() ? nullptr : moved(mine.address, first * type_.extent())) {}

  // Returns the origin of the first element of `rank`; null if its vector is not as long as this process's.
  [[nodiscard]] std::byte* find(int rank) const;
  [[nodiscard, gnu::cold, gnu::noinline]] Status not_found(int rank) const;
  Status subtree(const TreeOrder& order, int leaf, int leaves, std::byte* to) const;

  const Call& call_;
  const layout::Datatype& type_;
  Count count_;
  Count origin_;       // offset of the first element from the start of a vector's data
  std::size_t bytes_;  // length of a vector's data
  // Origin of the first element in the program's buffer, which is read instead of the published copy, because the copy
  // has left this core's nearest cache; null if the result overwrites the buffer.
  std::byte* own_;
};

}  // namespace hr::coll::shared

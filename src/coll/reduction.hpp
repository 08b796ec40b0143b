// Steps that reductions share. The order of operands depends only on their ranks, even for operations that are declared
// commutative, so that two processes that combine the same operands get bitwise identical results (section 6.9.1).
//
// Algorithms see only host or managed memory (execute.cpp stages device buffers).
#pragma once

#include <utility>

#include "coll/messages.hpp"

namespace hr::coll {

// Computes right = left op right, element by element; `left` holds the result of the lower ranks.
[[nodiscard]] inline Status combine(const Call& call, const View& left, const View& right) {
  return layout::apply(*call.op, left.address, right.address, right.count, *right.type);
}

// Computes result = left op right; `result` may be `right`. All have the same number of elements.
[[nodiscard]] inline Status combine_to(const Call& call, const View& left, const View& right, const View& result) {
  return layout::apply_to(*call.op, left.address, right.address, result.address, result.count, *result.type);
}

// Returns this process's contribution to a reduction whose buffers have the same count and type: send, or recv if in
// place.
[[nodiscard]] inline const View& contribution(const Call& call) noexcept {
  return call.send.none() ? call.recv.all() : call.send.all();
}

// Division of the elements of a vector into `parts` contiguous parts whose lengths differ by at most one.
struct Cut {
  Count count;
  int parts;
  [[nodiscard]] Count begin(int i) const noexcept {
    const Count longer = count % parts;
    return count / parts * i + (i < longer ? i : longer);
  }
  [[nodiscard]] View of(const View& vector, int i) const noexcept {
    return slice(vector, begin(i), begin(i + 1) - begin(i));
  }
};

// Reduces around a ring; commutative operations only. `vector` holds this process's contribution; afterwards, part
// (rank + 1) mod p of it is that part of the result.
[[nodiscard]] Task ring_reduce(const Call& call, View vector);

// Reduces up a binomial tree to rank `top`, combining in rank order from `top` on. `mine` holds this process's
// contribution and is overwritten; on `top` it becomes the result. `other`: memory of the same size. `top` must be 0
// unless the operation is commutative.
[[nodiscard]] Task tree_reduce(const Call& call, int top, View mine, View other);

// Runs the even process of a pair (doubling.hpp): sends its vector to the next rank, which continues for both, and
// receives the result into it.
[[nodiscard]] Task delegate_to_pair(const Call& call, View vector);

// Receives the vectors of the other group (or this one) one at a time, combines them in rank order, and
// leaves the result in `result`; sends nothing. `own` is this process's contribution in an intracommunicator.
[[nodiscard]] Task receive_and_reduce(const Call& call, View own, View result);

}  // namespace hr::coll

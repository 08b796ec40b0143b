// Reductions of long vectors by reading: every process combines its part of everybody's vector, read piece by piece
// into memory that stays in its cache. Operands in the order of ring_reduce().
#pragma once

#include "coll/reduction.hpp"
#include "coll/shared/direct.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool can_reduce_by_reading(const Query& query) noexcept {
  return can_read(query) && query.commutative && query.element <= query.slot;
}

// result = this process's part of all vectors, combined; host memory, one run of bytes. `own` is the contribution to
// it, elsewhere in memory. Everybody has exposed its vector.
[[nodiscard]] Status combine_by_reading(const Call& call, const View& own, const View& result);

}  // namespace hr::coll::shared

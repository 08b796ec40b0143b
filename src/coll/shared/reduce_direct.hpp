// Reductions of long vectors by reading: every process combines its part of everybody's vector, read piece by piece
// into memory that stays in its cache, and those who take the result read the other parts where they were made.
// Operands in the order of ring_reduce().
#pragma once

#include "coll/reduction.hpp"
#include "coll/shared/direct.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool can_reduce_by_reading(const Query& query) noexcept {
  return can_read(query) && query.commutative && query.element <= query.slot;
}

// The result goes to call.recv of the processes where `takes`; by the other algorithm where somebody cannot be read.
[[nodiscard]] Task reduce_by_reading(const Call& call, bool takes, const Algorithm& otherwise);

}  // namespace hr::coll::shared

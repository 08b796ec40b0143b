// Reductions of long vectors along a ring of data slots: part p of a round is in a data slot of rank p, which writes
// its own elements there. The processes after rank p add their elements in turn; the last addition, by the process
// before rank p, completes the result.
//
// So every element of a contribution is read only once, in the program's buffer, and partial results, one data slot per
// process, fit into the cores' caches; VectorRounds writes whole vectors before it reads them. The price is that each
// addition waits for the one before it: if parts are short and processes share cores, so that each wait costs a turn on
// a core, VectorRounds takes less time.
//
// Here, a data slot has several writers in turn; each waits for the step of the previous one.
#pragma once

#include "coll/shared/reduce_data_slots.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool parts_fit_data_slots(const Query& query) noexcept {
  return has_data_slots(query) && query.commutative && query.element <= query.data_slot_bytes;
}

// Combines all parts; copies the result to call.recv on the processes that pass `takes`.
[[nodiscard]] Task reduce_along_ring(const Call& call, bool takes);

}  // namespace hr::coll::shared

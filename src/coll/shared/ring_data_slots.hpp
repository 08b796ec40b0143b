// Reductions of long vectors along a ring of data slots: part p of a round lies in a data slot of rank p, which writes
// its own elements there; the processes after it add theirs one after the other, until the one before it has made the
// result.
//
// So every element of a contribution is read once, where the program has it, and partial results fit the cores' caches:
// a data slot for each process, where VectorRounds writes whole vectors before it reads them. The price is that
// each addition waits for the one before it: while parts are short and processes share cores, which makes every wait a
// turn of others, VectorRounds takes less time.
//
// A data slot has several writers here, one after the other: each has seen the step of the one before it.
#pragma once

#include "coll/shared/reduce_data_slots.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool parts_fit_data_slots(const Query& query) noexcept {
  return has_data_slots(query) && query.commutative && query.element <= query.data_slot_bytes;
}

// Combines all parts; the result goes to call.recv of the processes where `takes`.
[[nodiscard]] Task reduce_along_ring(const Call& call, bool takes);

}  // namespace hr::coll::shared

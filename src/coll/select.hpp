// Selection: which algorithm an operation uses. Data, not code: the rows of select/default.json, compiled in; a tuned
// table may be put before them (use_rows()); the knob coll_force goes before all, for tests and experiments.
//
// The first row of the operation that covers the query and names an algorithm whose probe holds is taken; where none
// does, the first algorithm of the registry that applies.
// All processes must choose alike. A row that asks for a kind of memory may therefore only name an algorithm that
// exchanges the same messages as the rows for other kinds: of two processes one may hold device memory and one not.
// Owner: process-wide, filled at first use. Threads: library lock.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "coll/algorithm.hpp"

namespace hr::coll {

struct SelectionRow {
  enum class Memory : std::uint8_t { kAny, kHost, kDevice };  // managed memory counts as host
  Operation operation;
  std::size_t max_bytes;  // inclusive, as all maxima
  int max_ranks;
  Memory memory;
  std::string_view algorithm;
  bool crowded = false;  // only where processes are known to outnumber the cores
};

// The rows of select/default.json.
[[nodiscard]] std::span<const SelectionRow> default_rows() noexcept;

// nullptr when no algorithm serves the query.
[[nodiscard]] const Algorithm* select(const Query& query);

// Puts rows before the default ones (replacing those of an earlier call). The names are looked up now.
// Errors: MPI_ERR_ARG for a name that is not an algorithm of the operation.
Status use_rows(std::span<const SelectionRow> rows);

// Forgets what was read from knobs and use_rows(). For tests.
void reset_selection();

}  // namespace hr::coll

// Selection: chooses the algorithm of an operation. Data, not code: the rows of select/default.json, compiled in;
// before them the rows of the job's tuning file (select/tuning.hpp); before all the knob coll_force, for tests and
// experiments.
//
// The first built-in row of the operation that covers the query and names an algorithm whose probe holds is taken;
// if there is none, the first algorithm of the registry that applies. Before these, the first tuned row that covers the
// query decides, and no later tuned row is looked at, as those were not measured for it. If it names no algorithm that
// applies, the built-in rows decide as they would without it.
// All processes must choose alike: the facts that rows ask for are the same on all of them, and so are the tuned rows.
// The choice is kept with the members of the operation (plans.hpp).
// Owner: the State, filled at first use. Threads: library lock.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "coll/algorithm.hpp"

namespace hr::coll {

struct SelectionRow {
  enum class Memory : std::uint8_t { kAny, kHost, kDevice };     // device: all have agreed to use their GPUs
  enum class Oversubscribed : std::uint8_t { kAny, kNo, kYes };  // yes: processes are known to outnumber the cores
  Operation operation;
  std::size_t max_bytes;  // inclusive, as all maxima
  int max_ranks;
  Memory memory;
  std::string_view algorithm;  // "default" in a tuned row: the built-in rows decide
  Oversubscribed oversubscribed = Oversubscribed::kAny;
  int max_hosts = kAnyNumber;  // hosts that the processes are spread over; 1: rows for the processes of one host
  int max_ranks_per_host = kAnyNumber;
  static constexpr int kAnyNumber = 0x7fffffff;
};

// The rows of select/default.json.
[[nodiscard]] std::span<const SelectionRow> default_rows() noexcept;

// Null if no algorithm serves the query.
[[nodiscard]] const Algorithm* select(const Query& query);

inline constexpr std::string_view kBuiltIn = "default";

// Meaning of a row's word for the algorithm: `known` is true if it names one, or kBuiltIn (`algorithm` is null then).
struct Named {
  bool known = false;
  const Algorithm* algorithm = nullptr;
  // For SelectionRow::algorithm: of static storage.
  [[nodiscard]] std::string_view name() const noexcept { return algorithm != nullptr ? algorithm->name : kBuiltIn; }
};
[[nodiscard]] Named named(Operation operation, std::string_view word) noexcept;

// Puts tuned rows in force, in place of the job's; looks up the names now.
// Errors: MPI_ERR_ARG for a name that is not an algorithm of the operation.
Status use_rows(std::span<const SelectionRow> rows);

// Forgets what was read from knobs and use_rows(). For tests.
void reset_selection();

}  // namespace hr::coll

// Selection: chooses the algorithm of an operation, driven by data instead of code. In order of precedence: the knob
// coll_force, for tests and experiments; the rows of the job's tuning file (select/tuning.hpp); the built-in rows of
// select/default.json.
//
// Only the first tuned row that covers the query counts: later rows were not measured for it. If there is no such row,
// or its algorithm does not apply, the built-in rows decide. The first row of the operation that covers the query and
// names an algorithm whose probe returns true is used. If there is none, the first algorithm of the registry that
// applies is used.
// All processes must make the same choice: the facts that rows test are the same on all of them, and so are the tuned
// rows. The choice is stored with the members of the operation (plans.hpp).
// Owner: the State, filled on first use. Threads: library lock.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "coll/algorithm.hpp"

namespace hr::coll {

struct SelectionRow {
  enum class Memory : std::uint8_t { kAny, kHost, kDevice };     // device: all processes have agreed to use their GPUs
  enum class Oversubscribed : std::uint8_t { kAny, kNo, kYes };  // yes: processes are known to outnumber the cores
  Operation operation;
  std::size_t max_bytes;  // inclusive, like all maxima
  int max_ranks;
  Memory memory;
  std::string_view algorithm;  // "default" in a tuned row: use the built-in rows
  Oversubscribed oversubscribed = Oversubscribed::kAny;
  int max_hosts = kAnyNumber;  // number of hosts of the processes; 1: the row applies to processes on one host
  int max_ranks_per_host = kAnyNumber;
  static constexpr int kAnyNumber = 0x7fffffff;
};

// The rows of select/default.json.
[[nodiscard]] std::span<const SelectionRow> default_rows() noexcept;

// Returns the algorithm for the query; null if none serves it.
[[nodiscard]] const Algorithm* select(const Query& query);

inline constexpr std::string_view kBuiltIn = "default";

// Meaning of the algorithm's name in a row. `known`: true if it is the name of an algorithm, or kBuiltIn (`algorithm`
// is then null).
struct Named {
  bool known = false;
  const Algorithm* algorithm = nullptr;
  // Name for SelectionRow::algorithm; it has static storage duration.
  [[nodiscard]] std::string_view name() const noexcept { return algorithm != nullptr ? algorithm->name : kBuiltIn; }
};
[[nodiscard]] Named named(Operation operation, std::string_view word) noexcept;

}  // namespace hr::coll

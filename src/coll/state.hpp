// State: the process-wide data of coll/. Created on first use after init() in MPI_Init, destroyed by finalize(), and
// created again in the next session. State of a communicator is kept with the communicator (members.hpp).
//
// Owner: process-wide. Threads: library lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/layer_state.hpp"
#include "coll/counting.hpp"
#include "coll/select.hpp"

namespace hr::coll {

struct Selection;  // select.cpp
struct DeleteSelection {
  void operator()(Selection* selection) const noexcept;
};

struct State {
  std::unique_ptr<Selection, DeleteSelection> selection;  // null before first use
  std::uint64_t files_made = 0;                           // number of shared memory files created; part of their names
  int own_segments = 0;  // number of persistent requests that have claimed memory of their own
  AlgorithmIndexes algorithm_indexes;
  bool sharing_failed = false;  // true once a failure to share memory has been logged
};

namespace detail {
extern LayerState<State> current_state;
[[nodiscard]] State& make_state();
}  // namespace detail

// Returns the state; creates it if there is none, even before init() and after finalize() (unit tests, tools).
[[nodiscard]] inline State& state() {
  return detail::current_state != nullptr ? *detail::current_state : detail::make_state();
}

}  // namespace hr::coll

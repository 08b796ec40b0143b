// State: kept by coll/ for the process: made at first use after init() in MPI_Init, destroyed by finalize(), made anew
// by the next session. State of one communicator is kept with that (members.hpp).
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
  std::unique_ptr<Selection, DeleteSelection> selection;  // null: not asked for yet
  std::uint32_t selection_epoch = 1;                      // changes with the rows: plans of another one are void
  std::uint64_t files_made = 0;                           // of shared memory, by this process: part of their names
  AlgorithmIndexes algorithm_indexes;
  bool sharing_failed = false;  // and that was noted
};

namespace detail {
extern LayerState<State> current_state;
[[nodiscard]] State& make_state();
}  // namespace detail

// Makes it if there is none, also before init() and after finalize() (unit tests, tools).
[[nodiscard]] inline State& state() {
  return detail::current_state != nullptr ? *detail::current_state : detail::make_state();
}

}  // namespace hr::coll

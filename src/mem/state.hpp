// State of mem/ for the process: created by init() or on first use, destroyed by shutdown(), after which the next use
// creates a new one.
//
// It does not hold facts that cannot change while the process lives: the opened driver (device.hpp), the
// location of the program's own memory (known_host.cpp), the open page table (residency.cpp), and that the program uses
// OpenACC (present_table.cpp).
//
// Owner: process-wide. Threads: library lock.
#pragma once

#include <cstdint>

#include "base/file_states.hpp"
#include "base/layer_state.hpp"
#include "mem/mem.hpp"

namespace hr::mem {

// The driver's answer about a range of addresses, valid in one driver epoch (base/driver_epoch.hpp).
struct Answer {
  std::uint64_t epoch = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
  Location location;
};

struct State {
  // Searched for every buffer whose address alone does not identify it as host memory.
  Answer answers[4];
  unsigned next_answer = 0;
  // Answers of any epoch, for RecallScope.
  Answer recalled[16];
  unsigned next_recalled = 0;
  bool last_was_the_drivers = false;  // the last buffer about which the driver was queried was known to the driver
  FileStates<State> files;
};

namespace detail {
inline constinit LayerState<State> current_state;
[[nodiscard]] State& make_state();
}  // namespace detail

[[nodiscard]] inline State& state() {
  return detail::current_state != nullptr ? *detail::current_state : detail::make_state();
}

// State of one file.
template <class File>
[[nodiscard]] inline File& own() {
  return state().files.of<File>();
}

}  // namespace hr::mem

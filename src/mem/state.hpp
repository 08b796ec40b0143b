// State: what mem/ keeps for the process: made by init() or at its first use, destroyed by shutdown(), after which all
// is anew.
//
// No part of it is what cannot change while the process lives: the opened driver (cuda/driver.hpp), where the program's
// own memory lies (known_host.cpp), how to ask the system about pages (residency.cpp), whether OpenACC has been found
// in use (present_table.cpp).
//
// Owner: process-wide. Threads: library lock.
#pragma once

#include <cstdint>

#include "base/file_states.hpp"
#include "base/layer_state.hpp"
#include "mem/mem.hpp"

namespace hr::mem {

// What the driver has said about an address in that driver epoch of the program (base/driver_epoch.hpp).
struct Answer {
  std::uint64_t epoch = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
  Location location;
};

struct State {
  // Looked at for every buffer that is not the host's by its address.
  Answer answers[4];
  unsigned next_answer = 0;
  FileStates<State> files;
};

namespace detail {
inline constinit LayerState<State> current_state;
[[nodiscard]] State& make_state();
}  // namespace detail

[[nodiscard]] inline State& state() {
  return detail::current_state != nullptr ? *detail::current_state : detail::make_state();
}

// What one file keeps.
template <class File>
[[nodiscard]] inline File& own() {
  return state().files.of<File>();
}

}  // namespace hr::mem

// State of check/, from begin() to end(). Internal to check/. Threads: library lock.
#pragma once

#include <memory>

#include "base/file_states.hpp"
#include "base/layer_state.hpp"

namespace hr::check {

struct State {
  FileStates<State> files;
};

// Null if nothing is checked.
extern LayerState<State> state;

// Returns the state of the calling file.
template <class Own>
Own& own() {
  return state->files.of<Own>();
}

}  // namespace hr::check

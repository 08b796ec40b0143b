#include "io/state.hpp"

#include "io/io.hpp"

namespace hr::io {

LayerState<State> detail::current_state;

State& state() {
  if (detail::current_state == nullptr) detail::current_state = std::make_unique<State>();
  return *detail::current_state;
}

Worker& worker() {
  State& all = state();
  if (all.worker == nullptr) all.worker = std::make_unique<Worker>();
  return *all.worker;
}

void init() { detail::current_state = std::make_unique<State>(); }
void finalize() { detail::current_state.reset(); }

}  // namespace hr::io

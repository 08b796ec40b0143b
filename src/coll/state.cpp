#include "coll/state.hpp"

#include "coll/coll.hpp"

namespace hr::coll {

LayerState<State> detail::current_state;

State& detail::make_state() {
  current_state = std::make_unique<State>();
  return *current_state;
}

void init() { finalize(); }

void finalize() { detail::current_state.reset(); }

}  // namespace hr::coll

#include "coll/state.hpp"

#include "coll/coll.hpp"

namespace hr::coll {

State* detail::current_state = nullptr;

State& detail::make_state() {
  current_state = new State();
  return *current_state;
}

void init() { finalize(); }

void finalize() {
  delete detail::current_state;
  detail::current_state = nullptr;
}

}  // namespace hr::coll

#include "coll/state.hpp"

#include "coll/coll.hpp"
#include "coll/select/tuning.hpp"

namespace hr::coll {
namespace {

std::unique_ptr<State> current;

}  // namespace

State& state() noexcept {
  if (current == nullptr) [[unlikely]]
    current = std::make_unique<State>();
  return *current;
}

void init() {
  current = std::make_unique<State>();
  tuning::share();
}

void finalize() { current.reset(); }

}  // namespace hr::coll

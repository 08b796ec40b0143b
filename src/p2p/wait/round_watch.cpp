#include "p2p/wait/round_watch.hpp"

#include <algorithm>

#include "p2p/core/engine.hpp"
#include "p2p/wait/watch.hpp"

namespace hr::p2p {
namespace {

class RoundWatch final : public Watch, public FileState {
 public:
  bool progress() override {
    if (function != nullptr) function();
    return false;
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "round watch"; }

  void (*function)() = nullptr;
};

}  // namespace

void watch_rounds(void (*function)()) {
  own<RoundWatch>().function = function;
  list_round_watch();
}

// Leaves the watch in the list, as this may be called within a round.
void unwatch_rounds() { own<RoundWatch>().function = nullptr; }

void list_round_watch() {
  auto& watch = own<RoundWatch>();
  auto& transports = engine()->transports;
  if (watch.function == nullptr || std::ranges::find(transports, &watch) != transports.end()) return;
  transports.push_back(&watch);
}

}  // namespace hr::p2p

#include "p2p/wait/round_watch.hpp"

#include <algorithm>

#include "p2p/core/engine.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {
namespace {

class RoundWatch final : public transport::Transport, public FileState {
 public:
  bool progress() override {
    if (function != nullptr) function();
    return false;
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "round watch"; }
  [[nodiscard]] bool reaches(int /*proc*/) const noexcept override { return false; }
  [[nodiscard]] transport::Caps caps(int /*proc*/) const noexcept override { return {}; }
  Status connect(int /*proc*/) override { return Errc::kUnsupportedOperation; }
  Status send(int, const transport::Header&, const void*, std::size_t) override { return Errc::kUnsupportedOperation; }
  std::byte* reserve(int, std::size_t) override { return nullptr; }
  void commit(int, const transport::Header&) override {}
  Status finalize() override { return kOk; }

  void (*function)() = nullptr;
};

}  // namespace

void watch_rounds(void (*function)()) {
  own<RoundWatch>().function = function;
  list_round_watch();
}

// The watch stays in the list, as this may be called within a round.
void unwatch_rounds() { own<RoundWatch>().function = nullptr; }

void list_round_watch() {
  auto& watch = own<RoundWatch>();
  auto& transports = engine()->transports;
  if (watch.function == nullptr || std::ranges::find(transports, &watch) != transports.end()) return;
  transports.push_back(&watch);
}

}  // namespace hr::p2p

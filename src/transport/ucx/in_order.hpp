// InOrder: puts numbered things back into the order of their numbers, which start at 0 and have no gaps in the end. UCX
// takes messages of different lengths different ways, and promises no order among them.
//
// Owner: the peer that the things come from. Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace hr::transport::ucx {

template <class Thing>
class InOrder {
 public:
  // Calls `deliver` for this one and all that waited for it, in order, or keeps it until it is its turn.
  template <class Deliver>
  void arrive(std::uint64_t number, Thing&& thing, Deliver&& deliver) {
    if (!pass(number)) return keep(number, std::move(thing));
    deliver(thing);
    drain(deliver);
  }

  // Whether it is this one's turn. Then it has passed, and drain() follows once it is delivered.
  [[nodiscard]] bool pass(std::uint64_t number) noexcept {
    if (number != next_) return false;
    ++next_;
    return true;
  }
  template <class Deliver>
  void drain(Deliver&& deliver) {
    while (!early_.empty() && early_.begin()->first == next_) {
      auto first = early_.extract(early_.begin());
      ++next_;
      deliver(first.mapped());
    }
  }
  // Before its turn.
  void keep(std::uint64_t number, Thing&& thing) { early_.emplace(number, std::move(thing)); }

  // Those that still wait.
  [[nodiscard]] std::map<std::uint64_t, Thing>& early() noexcept { return early_; }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Thing> early_;
};

}  // namespace hr::transport::ucx

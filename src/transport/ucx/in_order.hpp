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
    if (number != next_) {
      early_.emplace(number, std::move(thing));
      return;
    }
    ++next_;
    deliver(thing);
    while (!early_.empty() && early_.begin()->first == next_) {
      auto first = early_.extract(early_.begin());
      ++next_;
      deliver(first.mapped());
    }
  }

  // Those that still wait.
  [[nodiscard]] std::map<std::uint64_t, Thing>& early() noexcept { return early_; }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Thing> early_;
};

}  // namespace hr::transport::ucx

// InOrder: puts numbered things back into the order of their numbers, which start at 0 and have no gaps in the end. UCX
// takes messages of different lengths different ways, and promises no order among them.
//
// Numbers travel as their lowest 32 bits. One that is far ahead, or has been here, is refused: a sender that keeps to
// the order is never so far ahead, and without a limit this process would have to keep everything that another one
// sends. Owner: the peer that the things come from. Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace hr::transport::ucx {

template <class Thing>
class InOrder {
 public:
  // Largest distance of an early one from the one whose turn it is.
  static constexpr std::uint32_t kMostAhead = std::uint32_t{1} << 24;

  // Calls `deliver` for this one and all that waited for it, in order, or keeps it until it is its turn. False: it is
  // refused.
  template <class Deliver>
  bool arrive(std::uint32_t number, Thing&& thing, Deliver&& deliver) {
    if (!pass(number)) return keep(number, std::move(thing));
    deliver(thing);
    drain(deliver);
    return true;
  }

  // True if it is this one's turn. Then it has passed, and drain() follows once it is delivered.
  [[nodiscard]] bool pass(std::uint32_t number) noexcept {
    if (number != static_cast<std::uint32_t>(next_)) return false;
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
  // Keeps one that came before its turn. False: it is refused.
  [[nodiscard]] bool keep(std::uint32_t number, Thing&& thing) {
    const std::uint32_t ahead = number - static_cast<std::uint32_t>(next_);
    return ahead <= kMostAhead && early_.emplace(next_ + ahead, std::move(thing)).second;
  }

  // Returns those that still wait.
  [[nodiscard]] std::map<std::uint64_t, Thing>& early() noexcept { return early_; }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Thing> early_;
};

}  // namespace hr::transport::ucx

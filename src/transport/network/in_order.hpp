// InOrder: restores the order of numbered things. Numbers start at 0, and have no gaps once everything has arrived. A
// network library may send messages of different lengths in different ways, with no order among them.
//
// Numbers are sent as their lowest 32 bits. One that is far ahead, or has arrived before, is refused: a correct sender
// is never so far ahead, and without a limit another process could make this one keep any number of things. Owner: the
// peer that sends the things. Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace hr::transport::network {

template <class Thing>
class InOrder {
 public:
  // Largest distance of an early number from the next one.
  static constexpr std::uint32_t kMostAhead = std::uint32_t{1} << 24;

  // Calls `deliver` for this thing and all that waited for it, in order, or keeps it until its turn. False: it is
  // refused.
  template <class Deliver>
  bool arrive(std::uint32_t number, Thing&& thing, Deliver&& deliver) {
    if (!pass(number)) return keep(number, std::move(thing));
    deliver(thing);
    drain(deliver);
    return true;
  }

  // True if this number is the next one, which then counts as delivered; the caller must call drain() after the
  // delivery.
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
  // Keeps a thing that arrived before its turn. False: it is refused.
  [[nodiscard]] bool keep(std::uint32_t number, Thing&& thing) {
    const std::uint32_t ahead = number - static_cast<std::uint32_t>(next_);
    return ahead <= kMostAhead && early_.emplace(next_ + ahead, std::move(thing)).second;
  }

  // Returns the low bits of the number of things delivered.
  [[nodiscard]] std::uint32_t delivered() const noexcept { return static_cast<std::uint32_t>(next_); }

  // Returns the things that still wait.
  [[nodiscard]] std::map<std::uint64_t, Thing>& early() noexcept { return early_; }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Thing> early_;
};

}  // namespace hr::transport::network

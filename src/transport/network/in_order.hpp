// InOrder: restores the order of numbered items. Numbers start at 0, and have no gaps once everything has arrived. A
// network library may send messages of different lengths with different protocols, and then does not keep their order.
//
// Numbers are sent as their lowest 32 bits. A number that is far ahead, or has arrived before, is rejected: a correct
// sender is never so far ahead, and without a limit another process could make this one store any number of items.
// Owner: the peer that sends the items. Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace hr::transport::network {

template <class Thing>
class InOrder {
 public:
  // Maximum distance of an early number from the next one.
  static constexpr std::uint32_t kMostAhead = std::uint32_t{1} << 24;

  // Calls `deliver` for this item and all items that waited for it, in order, or keeps the item until its turn. False
  // if the item is rejected.
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
  // Keeps an item that arrived before its turn. False if it is rejected.
  [[nodiscard]] bool keep(std::uint32_t number, Thing&& thing) {
    const std::uint32_t ahead = number - static_cast<std::uint32_t>(next_);
    return ahead <= kMostAhead && early_.emplace(next_ + ahead, std::move(thing)).second;
  }

  // Returns the low bits of the number of items delivered.
  [[nodiscard]] std::uint32_t delivered() const noexcept { return static_cast<std::uint32_t>(next_); }

  // Returns the items that are still waiting.
  [[nodiscard]] std::map<std::uint64_t, Thing>& early() noexcept { return early_; }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Thing> early_;
};

}  // namespace hr::transport::network

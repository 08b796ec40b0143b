// Waiting for words in shared memory, in coroutines.
//
//   Arrived arrived{call};
//   HR_CO_UNTIL(call, arrived);
//
// A condition is any object whose call operator looks and says if it holds; it is a local of the coroutine. It is
// looked at for about a microsecond before the coroutine suspends, as most members arrive at nearly the same time;
// after that in every round of progress.
#pragma once

#include <utility>

#include "base/clock.hpp"
#include "coll/shared/area.hpp"

namespace hr::coll::shared {

inline constexpr unsigned kEagerLooks = 64;

template <class Condition>
[[nodiscard]] bool holds_soon(const Call& call, Condition& condition) {
  if (condition()) return true;
  if (!call.blocking) return false;
  // At first without a pause, which costs as much as the flag's way between two cores.
  for (unsigned look = 0; look < call.area->looks(); ++look) {
    if (look >= kEagerLooks) spin_pause();
    if (condition()) return true;
  }
  return false;
}

// For a condition of this process alone.
template <class Condition>
[[nodiscard]] p2p::When when(Condition& condition) noexcept {
  return {[](void* argument) { return (*static_cast<Condition*>(argument))(); }, &condition};
}
// For a condition that other members make true: it ends with an error if one of them fails.
template <class Condition>
[[nodiscard]] p2p::When when(const Call& call, Condition& condition) noexcept {
  p2p::When made = when(condition);
  made.context = call.comm->context();
  return made;
}

// Holds from the second look on, which is in the next round of progress.
struct NextRound {
  bool looked = false;
  bool operator()() noexcept { return std::exchange(looked, true); }
};

// True once the own cell of this operation may be written: no member reads its earlier content.
struct CellFree {
  const Call& call;
  bool operator()() const noexcept { return call.ticket < kCells || call.area->all_finished(call.ticket - kCells + 1); }
};

// True once one member's cell of this operation is there. The place of its flag is found once, as each look counts.
class CellArrived {
 public:
  CellArrived(const Call& call, int rank) noexcept
      : flag_(&call.area->cell(rank, call.ticket, swaps(call)).head.sequence), arrived_(call.ticket + 1) {}
  bool operator()() const noexcept { return flag_->load(std::memory_order_acquire) == arrived_; }

 private:
  const std::atomic<std::uint64_t>* flag_;
  std::uint64_t arrived_;
};

// True once the cells of members [next, end) are there; looks at them in this order, round the last rank.
class CellsArrived {
 public:
  CellsArrived(const Call& call, int next, int end) noexcept
      : call_(call), next_(next), end_(end), arrived_(of(next)) {}
  bool operator()() noexcept {
    for (; next_ < end_; arrived_ = of(++next_)) {
      if (!arrived_()) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] CellArrived of(int member) const noexcept {
    const int size = call_.area->size();
    return {call_, member < size ? member : member - size};
  }

  const Call& call_;
  int next_;
  int end_;
  CellArrived arrived_;
};

// Condition for the cells of all other members, the next one first so that not all look at the same line.
[[nodiscard]] inline CellsArrived others_arrived(const Call& call) noexcept {
  return {call, call.rank() + 1, call.rank() + call.size()};
}

}  // namespace hr::coll::shared

// co_awaits a condition that other members make true.
#define HR_CO_UNTIL(call, condition)                                                         \
  do {                                                                                       \
    if (!::hr::coll::shared::holds_soon(call, condition)) {                                  \
      const ::hr::p2p::When hr_until_condition_ = ::hr::coll::shared::when(call, condition); \
      HR_CO_TRY(co_await hr_until_condition_);                                               \
    }                                                                                        \
  } while (false)

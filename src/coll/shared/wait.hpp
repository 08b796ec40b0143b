// Waiting for words in shared memory, in coroutines.
//
//   Arrived arrived{call};
//   HR_CO_UNTIL(call, arrived);
//
// A condition is any object whose call operator looks and says whether it holds; it is a local of the coroutine. It is
// looked at for about a microsecond before the coroutine suspends, as most members arrive at nearly the same time;
// after that in every round of progress.
#pragma once

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

template <class Condition>
[[nodiscard]] p2p::When when(Condition& condition) noexcept {
  return {[](void* argument) { return (*static_cast<Condition*>(argument))(); }, &condition};
}

// The own cell of this operation may be written: nobody reads what it held before.
struct CellFree {
  const Call& call;
  bool operator()() const noexcept { return call.ticket < kCells || call.area->all_finished(call.ticket - kCells + 1); }
};

// One member's cell of this operation is there.
struct CellArrived {
  const Call& call;
  int rank;
  bool operator()() const noexcept {
    return call.area->cell(rank, call.ticket, swaps(call)).head.sequence.load(std::memory_order_acquire) ==
           call.ticket + 1;
  }
};

// Those of members [next, end), in this order and round the last rank.
struct CellsArrived {
  const Call& call;
  int next;
  int end;
  bool operator()() noexcept {
    const int size = call.area->size();
    for (; next < end; ++next) {
      if (!CellArrived{call, next < size ? next : next - size}()) return false;
    }
    return true;
  }
};

// Those of all other members, the next one first so that not all look at the same line.
[[nodiscard]] inline CellsArrived others_arrived(const Call& call) noexcept {
  return {call, call.rank() + 1, call.rank() + call.size()};
}

}  // namespace hr::coll::shared

// co_awaits a condition.
#define HR_CO_UNTIL(call, condition)                                                   \
  do {                                                                                 \
    if (!::hr::coll::shared::holds_soon(call, condition)) {                            \
      const ::hr::p2p::When hr_until_condition_ = ::hr::coll::shared::when(condition); \
      co_await hr_until_condition_;                                                    \
    }                                                                                  \
  } while (false)

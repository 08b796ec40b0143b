// Waits for words in shared memory, in coroutines.
//
//   Arrived arrived{call};
//   HR_CO_UNTIL(call, arrived);
//
// A condition is any object whose call operator returns whether it holds; it is a local of the coroutine. It is polled
// for about a microsecond before the coroutine suspends, because most members arrive at nearly the same time; after
// that, in every round of progress.
#pragma once

#include <utility>

#include "base/clock.hpp"
#include "coll/shared/segment.hpp"

namespace hr::coll::shared {

inline constexpr unsigned kEagerLooks = 64;

template <class Condition>
[[nodiscard]] bool holds_soon(const Call& call, Condition& condition) {
  if (condition()) return true;
  if (!call.blocking) return false;
  // Polls without a pause at first: a pause costs as much as the transfer of a flag between two cores.
  for (unsigned look = 0; look < call.segment->looks(); ++look) {
    if (look >= kEagerLooks) spin_pause();
    if (condition()) return true;
  }
  return false;
}

// Returns a wait for a condition that depends only on this process.
template <class Condition>
[[nodiscard]] p2p::When when(Condition& condition) noexcept {
  return {[](void* argument) { return (*static_cast<Condition*>(argument))(); }, &condition};
}
// Returns a wait for a condition that other members make true; it ends with an error if one of them fails.
template <class Condition>
[[nodiscard]] p2p::When when(const Call& call, Condition& condition) noexcept {
  p2p::When made = when(condition);
  made.context = call.comm->context();
  return made;
}

// True from the second call on, that is, from the next round of progress on.
struct NextRound {
  bool looked = false;
  bool operator()() noexcept { return std::exchange(looked, true); }
};

// True once this process's flag lines of this operation may be written: no member still reads their earlier content.
struct FlagLinesFree {
  const Call& call;
  bool operator()() const noexcept {
    return call.sequence_number < kFlagLineSets || call.segment->all_finished(call.sequence_number - kFlagLineSets + 1);
  }
};

// True once a member's flag of this operation is raised. Computes the flag's address only once, because polling is
// time-critical.
class FlagArrived {
 public:
  FlagArrived(const Call& call, int rank) noexcept
      : flag_(&call.segment->flag_lines(rank, call.sequence_number, swaps(call)).head.sequence),
        arrived_(call.sequence_number + 1) {}
  bool operator()() const noexcept { return flag_->load(std::memory_order_acquire) == arrived_; }

 private:
  const std::atomic<std::uint64_t>* flag_;
  std::uint64_t arrived_;
};

// True once the flags of members [next, end) are raised; checks them in this order, wrapping around after the last
// rank.
class FlagsArrived {
 public:
  FlagsArrived(const Call& call, int next, int end) noexcept
      : call_(call), next_(next), end_(end), arrived_(of(next)) {}
  bool operator()() noexcept {
    while (next_ < end_) {
      if (!arrived_()) return false;
      if (++next_ < end_) arrived_ = of(next_);
    }
    return true;
  }

 private:
  [[nodiscard]] FlagArrived of(int member) const noexcept {
    const int size = call_.segment->size();
    return {call_, member < size ? member : member - size};
  }

  const Call& call_;
  int next_;
  int end_;
  FlagArrived arrived_;
};

// Returns a condition for the flags of all other members. It begins with the next rank, so that the processes do not
// all read the same line.
[[nodiscard]] inline FlagsArrived others_arrived(const Call& call) noexcept {
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

// co_awaits a condition that depends only on this process. `call` may have no segment.
#define HR_CO_UNTIL_OWN(call, condition)                                                 \
  do {                                                                                   \
    if ((call).segment == nullptr || !::hr::coll::shared::holds_soon(call, condition)) { \
      const ::hr::p2p::When hr_until_condition_ = ::hr::coll::shared::when(condition);   \
      HR_CO_TRY(co_await hr_until_condition_);                                           \
    }                                                                                    \
  } while (false)

// Timing of calls, for the page of counters and for its parts. One call in kOneOf is timed, and so is each call that
// follows a long one. In any other call, only long waits are timed, from the start of the first one (kFromWait).
// Threads: any.
#pragma once

#include <ctime>

#include "base/counters.hpp"

namespace hr::counters {

// The call after a timed one that took more than kLong ns (much longer than reading the clock takes) is timed as well.
// The kOneOf - 1 calls of the function after a shorter one are not timed.
inline constexpr Value kLong = 5000;
inline constexpr Value kOneOf = 1024;
// Value of `timed_since` if only the waits of the call are timed.
inline constexpr Value kFromWait = 0;

inline Value nanoseconds(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<Value>(time.tv_sec) * 1'000'000'000 + static_cast<Value>(time.tv_nsec);
}

}  // namespace hr::counters

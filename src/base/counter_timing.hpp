// Timing of calls, for the page of counters and for its parts. One call in kOneOf is timed, and so is each call that
// follows a long one. In any other call, only long waits are timed, from the start of the first one (kFromWait).
//
// `Counts` is Page or Part, which have these counters under the same names. `place` is the index of the function there.
// Threads: as for Counts.
#pragma once

#include <algorithm>
#include <ctime>

#include "base/counter_details.hpp"
#include "base/counter_parts.hpp"
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

// Returns the row of a process; kPeers if it has none, or for -1. Threads: any.
[[nodiscard]] std::size_t find_row(int process) noexcept;

// False if the wait is within another one.
template <class Counts>
bool begin_wait_in(Counts& of, Value place, int process) noexcept {
  if (of.now.waiting_since != 0) return false;
  set(of.now.waiting_for, static_cast<Value>(process + 1));
  set(of.now.waiting_since, nanoseconds(CLOCK_MONOTONIC));
  if (of.timed == 0 && place != 0) {
    set(of.timed, place);
    set(of.timed_since, kFromWait);
    set(of.waited_before, of.waited);
  }
  return true;
}

// Returns the length of the wait.
template <class Counts>
Value end_wait_in(Counts& of, Value place) noexcept {
  const Value waited = nanoseconds(CLOCK_MONOTONIC) - of.now.waiting_since;
  set(of.now.waiting_since, 0);
  set(of.now.waiting_for, 0);
  add_to(of.waits, 1);
  add_to(of.waited, waited);
  set(of.longest_wait, std::max(of.longest_wait, waited));
  add_to(of.waited_in[place], waited);
  add_to(of.functions[place].nanoseconds, waited);
  return waited;
}

template <class Row>
void count_wait(Row& peer, Value waited) noexcept {
  add_to(peer.waits, 1);
  add_to(peer.waited, waited);
}

template <class Counts>
void begin_timing_in(Counts& of, Value place) noexcept {
  set(of.timed, place);
  set(of.waited_before, of.waited);
  set(of.timed_since, nanoseconds(CLOCK_MONOTONIC));
}

// The time of a function excludes waits, whose time has already been counted. `row`: that of the function's durations.
template <class Counts>
void end_timing_in(Counts& of, std::size_t row) noexcept {
  const Value place = of.timed;
  const Value all_waits = of.waited - of.waited_before;
  set(of.timed, 0);
  if (of.timed_since == kFromWait) {
    if (all_waits != 0) count_duration(row, all_waits, 1);
    return;
  }
  const Value length = nanoseconds(CLOCK_MONOTONIC) - of.timed_since;
  const Value waited = std::min(length, all_waits);
  Function& own = of.functions[place];
  Value& stands_for = of.stands_for[place];
  add_to(own.nanoseconds, (length - waited) * std::max<Value>(stands_for, 1));
  // Every call with a long wait counts by itself, so this one represents no others.
  count_duration(row, length, waited != 0 ? 1 : std::max<Value>(stands_for, 1));
  set(stands_for, length > kLong ? 1 : kOneOf);
  set(own.timed_next, own.calls + stands_for - 1);
}

}  // namespace hr::counters

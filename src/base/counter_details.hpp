// Details of the page of counters, which readers need less often: how long calls took, and reports of the checker.
//
// They lie between the page and its parts (counter_parts.hpp) in the same memory file, and the page's text describes
// them (docs/counters.md). Only timed calls are counted here (counter_timing.hpp). A call with a long wait counts
// once; any other timed call counts as many times as the number of calls that it represents. So calls with long waits
// are counted exactly, and the number of short calls is an estimate.
//
// Owner: process-wide, from the program's start to its end. Threads: any for the durations of functions that channels
// execute (`place` in counter_parts.hpp); the library lock for everything else. Memory order: none between counts; a
// report is complete before its number is stored (release).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/counters.hpp"

namespace hr::counters {

// Classes of durations. Class 0: less than kShortest ns; n: less than kShortest << n; the last: all longer ones.
inline constexpr std::size_t kDurations = 32;
inline constexpr Value kShortest = 64;
// Number of rows of functions. Row 0 is for functions without a row of their own. The next rows belong to the functions
// that channels execute, by their places; the others go to other functions, in the order in which they are first timed.
inline constexpr std::size_t kDurationRows = 96;

inline constexpr std::size_t kReports = 16;
inline constexpr std::size_t kReportBytes = 512;

// A report of the checker. `text` ends with a zero, and is cut off if it is longer.
struct Report {
  Value time;  // time of the first report with this text; nanoseconds since 1970
  Value times;
  char text[kReportBytes - 2 * sizeof(Value)];
};

struct alignas(kPageAlignment) Details {
  Value functions[kDurationRows];  // number of the row's function; 0: none
  Value durations[kDurationRows][kDurations];
  Value reports;            // all reports, also those that are not in `report`
  Value kept;               // number of elements of `report`
  Report report[kReports];  // the first ones that differ
};
inline constinit Details details{};

// Assigns rows to the functions that channels execute, given their numbers by place. Called once, before publish().
void name_durations(std::span<const std::uint16_t> places) noexcept;
// Returns the row of a function, by its number. Called under the library lock.
[[nodiscard]] std::size_t duration_row(std::size_t function) noexcept;

// Counts `calls` calls that took that long.
inline void count_duration(std::size_t row, Value nanoseconds, Value calls) noexcept {
  const auto length = static_cast<std::size_t>(std::bit_width(nanoseconds / kShortest));
  Value& count = details.durations[row][length < kDurations ? length : kDurations - 1];
  std::atomic_ref<Value>(count).fetch_add(calls, std::memory_order_relaxed);
}

// Keeps a report for readers.
void keep_report(std::string_view text) noexcept;

}  // namespace hr::counters

// Reports of the checker: lines on standard error, which the page of counters keeps for the monitor as well
// (base/counter_details.hpp). An error that a call raises is also kept there, but not written as a line: the call's
// error handler shows it. Threads: library lock.
#pragma once

#include <string_view>

#include "base/status.hpp"

namespace hr::check {

// Writes the line "check full: ..." and keeps it.
[[gnu::format(printf, 1, 2), gnu::cold]] void report(const char* format, ...);
// Keeps the recorded detail of the error that a call of this function is about to raise.
[[gnu::cold]] void keep_detail(std::string_view function);

}  // namespace hr::check

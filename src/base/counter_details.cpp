#include "base/counter_details.hpp"

#include <algorithm>
#include <cstring>

#include "base/counter_parts.hpp"
#include "base/counter_timing.hpp"

namespace hr::counters {
namespace {

static_assert(kPlaces < kDurationRows && kDurationRows <= 256);

// Row of each function; 0: none yet.
std::uint8_t rows[kFunctions];
std::size_t next_row = kPlaces;

}  // namespace

void name_durations(std::span<const std::uint16_t> places) noexcept {
  for (std::size_t place = 1; place < std::min(places.size(), kPlaces); ++place) {
    details.functions[place] = places[place];
    rows[places[place]] = static_cast<std::uint8_t>(place);
  }
}

std::size_t duration_row(std::size_t function) noexcept {
  if (rows[function] != 0 || next_row == kDurationRows) return rows[function];
  details.functions[next_row] = function;
  rows[function] = static_cast<std::uint8_t>(next_row);
  return next_row++;
}

void keep_report(std::string_view text) noexcept {
  text = text.substr(0, sizeof Report::text - 1);
  ++details.reports;
  const auto kept = static_cast<std::size_t>(details.kept);
  for (std::size_t i = 0; i < kept; ++i) {
    if (text != std::string_view(details.report[i].text)) continue;
    ++details.report[i].times;
    return;
  }
  if (kept == kReports) return;
  Report& report = details.report[kept];
  report.time = nanoseconds(CLOCK_REALTIME);
  report.times = 1;
  std::memcpy(report.text, text.data(), text.size());
  std::atomic_ref<Value>(details.kept).store(kept + 1, std::memory_order_release);
}

}  // namespace hr::counters

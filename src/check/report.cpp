#include "check/report.hpp"

#include <cstdarg>
#include <cstdio>
#include <string>

#include "base/counter_details.hpp"
#include "base/log.hpp"

namespace hr::check {

void report(const char* format, ...) {
  char text[2048];  // the longest line that log::write() writes
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  log::write(log::Level::kError, "check full: %s", text);
  counters::keep_report(text);
}

void keep_detail(std::string_view function) {
  std::string detail = take_detail();
  counters::keep_report(std::string(function) + ": " + detail);
  set_detail(std::move(detail));
}

}  // namespace hr::check

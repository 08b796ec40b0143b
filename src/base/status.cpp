#include "base/status.hpp"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace hr {
namespace {
thread_local std::string detail;
}

Status fail(Errc error_class, const char* format, ...) {
  char text[1024];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  detail = text;
  return error_class;
}

std::string take_detail() { return std::exchange(detail, std::string()); }

void set_detail(std::string text) { detail = std::move(text); }

}  // namespace hr

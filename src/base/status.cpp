#include "base/status.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace hr {
namespace {
// Plain bytes, as exit handlers run after the destructors of thread_local objects, long after a program's last session.
constinit thread_local char detail[1024] = {};
}  // namespace

Status fail(Errc error_class, const char* format, ...) {
  char text[sizeof detail];  // the new text may quote the old one
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  std::memcpy(detail, text, sizeof text);
  return error_class;
}

std::string take_detail() {
  std::string text = detail;
  detail[0] = '\0';
  return text;
}

void set_detail(std::string text) { std::snprintf(detail, sizeof detail, "%s", text.c_str()); }

}  // namespace hr

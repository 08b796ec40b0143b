#include "base/status.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace hr {
namespace {

constexpr std::size_t kDetailBytes = 1024;

// The text itself is not in thread-local memory: older C libraries reserve little of it for a library that is opened at
// run time. Exit handlers run after the destructors of thread_local objects, long after a program's last session; a
// text that they set gets new memory.
constinit thread_local char* detail = nullptr;

struct Release {
  ~Release() { std::free(std::exchange(detail, nullptr)); }
};

// Returns this thread's buffer for the text; null if there is no memory.
char* own_detail() noexcept {
  if (detail == nullptr) {
    static thread_local const Release release;
    detail = static_cast<char*>(std::calloc(1, kDetailBytes));
  }
  return detail;
}

}  // namespace

Status fail(Errc error_class, const char* format, ...) {
  char text[kDetailBytes];  // the new text may quote the old one
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (char* const own = own_detail()) std::memcpy(own, text, sizeof text);
  return error_class;
}

std::string take_detail() {
  if (detail == nullptr) return {};
  std::string text = detail;
  detail[0] = '\0';
  return text;
}

void set_detail(std::string text) {
  if (char* const own = own_detail()) std::snprintf(own, kDetailBytes, "%s", text.c_str());
}

}  // namespace hr

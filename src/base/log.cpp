#include "base/log.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "base/knobs.hpp"

namespace hr::log {
namespace {

int own_rank = -1;
int own_size = 0;

void write_line(const char* format, std::va_list args) noexcept {
  char line[2048];
  int used = own_rank < 0 ? std::snprintf(line, sizeof line, "[headrace] ")
                          : std::snprintf(line, sizeof line, "[headrace %d/%d] ", own_rank, own_size);
  const int body = std::vsnprintf(line + used, sizeof line - static_cast<unsigned>(used) - 1, format, args);
  used = used + body < static_cast<int>(sizeof line) - 2 ? used + body : static_cast<int>(sizeof line) - 2;
  line[used++] = '\n';
  // A single write, so that lines of several ranks do not mix. Errors of stderr are ignored.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, static_cast<unsigned>(used));
}

}  // namespace

void set_identity(int rank, int size) noexcept {
  own_rank = rank;
  own_size = size;
}

bool enabled(Level level) noexcept { return static_cast<int>(level) <= knobs().verbose; }

void write(Level level, const char* format, ...) noexcept {
  if (!enabled(level)) return;
  std::va_list args;
  va_start(args, format);
  write_line(format, args);
  va_end(args);
}

void note_once(bool& noted, const char* format, ...) noexcept {
  if (noted || !enabled(Level::kNote)) return;
  noted = true;
  std::va_list args;
  va_start(args, format);
  write_line(format, args);
  va_end(args);
}

}  // namespace hr::log

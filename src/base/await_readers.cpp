#include "base/await_readers.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "base/clock.hpp"

namespace hr {
namespace {

constexpr long kPause = 1'000'000;  // ns

bool is_unread(int descriptor) noexcept {
  struct stat kind{};
  if (::fstat(descriptor, &kind) != 0 || !S_ISFIFO(kind.st_mode)) return false;
  int bytes = 0;
  if (::ioctl(descriptor, FIONREAD, &bytes) != 0 || bytes == 0) return false;
  // The system reports an error if nobody can read any more.
  pollfd state{descriptor, 0, 0};
  return ::poll(&state, 1, 0) == 0;
}

}  // namespace

void await_readers(double seconds) noexcept {
  const double until = now_seconds() + seconds;
  while ((is_unread(STDOUT_FILENO) || is_unread(STDERR_FILENO)) && now_seconds() < until) {
    const timespec pause{0, kPause};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace hr

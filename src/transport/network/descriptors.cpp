#include "transport/network/descriptors.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace hr::transport::network {
namespace {

// Connections of strangers that a transport keeps at once, and those of a job on a thousand hosts; 8 bytes each.
constexpr rlim_t kMostDescriptors = 4096;

}  // namespace

void enlarge_descriptor_table() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == 0) return;
  const int some = ::eventfd(0, EFD_CLOEXEC);
  if (some < 0) return;
  // The table keeps its size after the descriptor has been closed.
  const int high = ::fcntl(some, F_DUPFD_CLOEXEC, static_cast<int>(std::min(limit.rlim_cur, kMostDescriptors)) - 1);
  if (high >= 0) ::close(high);
  ::close(some);
}

}  // namespace hr::transport::network

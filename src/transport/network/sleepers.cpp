#include "transport/network/sleepers.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace hr::transport::network {

Sleepers::~Sleepers() {
  for (const Bell& each : bells_) ::close(each.descriptor);
}

Status Sleepers::open(int arrivals) {
  arrivals_ = arrivals;
  if (add_bell()) return kOk;
  return fail(Errc::kOther, "no descriptor for waiting threads: %s", std::strerror(errno));
}

bool Sleepers::add_bell() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC);
  if (descriptor < 0) return false;
  bells_.push_back({.descriptor = descriptor});
  return true;
}

std::optional<std::uint32_t> Sleepers::arm() {
  const std::scoped_lock lock(mutex_);
  auto free = std::find_if(bells_.begin(), bells_.end(), [](const Bell& each) { return !each.armed; });
  if (free == bells_.end()) {
    if (!add_bell()) return std::nullopt;
    free = std::prev(bells_.end());
  }
  free->armed = true;
  return static_cast<std::uint32_t>(free - bells_.begin());
}

void Sleepers::sleep(std::uint32_t bell, double at_most_seconds) const noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(at_most_seconds);
  limit.tv_nsec = static_cast<long>((at_most_seconds - static_cast<double>(limit.tv_sec)) * 1e9);
  pollfd watched[2] = {{arrivals_, POLLIN, 0}, {-1, POLLIN, 0}};
  {
    const std::scoped_lock lock(mutex_);
    watched[1].fd = bells_[bell].descriptor;
  }
  ::ppoll(watched, 2, &limit, nullptr);
}

void Sleepers::disarm(std::uint32_t bell) noexcept {
  const std::scoped_lock lock(mutex_);
  Bell& own = bells_[bell];
  std::uint64_t rings = 0;
  while (own.rung && ::read(own.descriptor, &rings, sizeof rings) < 0 && errno == EINTR) {
  }
  own.rung = own.armed = false;
}

void Sleepers::wake() noexcept {
  const std::scoped_lock lock(mutex_);
  for (Bell& each : bells_) {
    if (!each.armed || each.rung) continue;
    each.rung = true;
    const std::uint64_t one = 1;
    while (::write(each.descriptor, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace hr::transport::network

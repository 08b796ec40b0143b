#include "transport/ucx/sleepers.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace hr::transport::ucx {

Sleepers::~Sleepers() {
  if (tokens_ >= 0) ::close(tokens_);
}

Status Sleepers::open(int arrivals) {
  arrivals_ = arrivals;
  tokens_ = ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  if (tokens_ >= 0) return kOk;
  return fail(Errc::kOther, "no descriptor for waiting threads: %s", std::strerror(errno));
}

std::uint32_t Sleepers::arm() noexcept { return wakes_in(state_.fetch_add(1, std::memory_order_seq_cst)); }

void Sleepers::sleep(double at_most_seconds) const noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(at_most_seconds);
  limit.tv_nsec = static_cast<long>((at_most_seconds - static_cast<double>(limit.tv_sec)) * 1e9);
  pollfd watched[2] = {{arrivals_, POLLIN, 0}, {tokens_, POLLIN, 0}};
  ::ppoll(watched, 2, &limit, nullptr);
}

void Sleepers::disarm(std::uint32_t armed) noexcept {
  std::uint64_t now = state_.load(std::memory_order_acquire);
  while (wakes_in(now) == armed) {
    if (state_.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel, std::memory_order_acquire)) return;
  }
  // A wake() has counted this thread: its token is there, or on its way.
  std::uint64_t token = 0;
  while (::read(tokens_, &token, sizeof token) < 0 && errno == EINTR) {
  }
}

void Sleepers::wake() noexcept {
  std::uint64_t now = state_.load(std::memory_order_acquire);
  std::uint64_t woken;
  do {
    if (armed_in(now) == 0) return;
    woken = std::uint64_t{wakes_in(now) + 1} << 32;
  } while (!state_.compare_exchange_weak(now, woken, std::memory_order_acq_rel, std::memory_order_acquire));
  const std::uint64_t tokens = armed_in(now);
  while (::write(tokens_, &tokens, sizeof tokens) < 0 && errno == EINTR) {
  }
}

}  // namespace hr::transport::ucx

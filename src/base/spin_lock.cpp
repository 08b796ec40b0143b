#include "base/spin_lock.hpp"

#include <sched.h>

#include "base/clock.hpp"

namespace hr {
namespace {
constexpr int kTries = 64;
}  // namespace

void SpinLock::wait() noexcept {
  do {
    for (int i = 0; i < kTries && held_.load(std::memory_order_relaxed); ++i) spin_pause();
    if (held_.load(std::memory_order_relaxed)) ::sched_yield();
  } while (held_.exchange(true, std::memory_order_acquire));
}

}  // namespace hr

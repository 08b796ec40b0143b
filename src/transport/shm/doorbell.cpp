#include "transport/shm/doorbell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "base/lock.hpp"

namespace hr::transport::shm {
namespace {
bool barrier_available = false;
}

std::size_t Doorbell::footprint(int processes) noexcept {
  const std::size_t bytes = sizeof(Doorbell) + 2 * words(processes) * sizeof(std::uint64_t);
  return (bytes + 127) / 128 * 128;
}

void Doorbell::announce(int sender) noexcept {
  const auto bit = std::uint64_t{1} << (sender % 64);
  connected()[sender / 64].fetch_or(bit, std::memory_order_release);
  connections.fetch_add(1, std::memory_order_release);
}

void Doorbell::wake() noexcept {
  if (sleeping.exchange(0, std::memory_order_acq_rel) == 0) return;
  ::syscall(SYS_futex, &sleeping, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::arm() noexcept {
  sleeping.store(1, std::memory_order_seq_cst);
  barrier();
}

// Beside other threads the next message rings, maybe once more than it needs to.
void Doorbell::disarm() noexcept {
  if (!LibraryLock::enabled()) sleeping.store(0, std::memory_order_relaxed);
}

void register_barrier() noexcept {
  barrier_available = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

bool has_barrier() noexcept { return barrier_available; }

void barrier() noexcept {
  if (barrier_available) {
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void sleep_on(std::atomic<std::uint32_t>& word, double seconds) noexcept {
  if (!barrier_available) seconds = std::min(seconds, kBlindSleepSeconds);
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(seconds);
  limit.tv_nsec = static_cast<long>((seconds - static_cast<double>(limit.tv_sec)) * 1e9);
  ::syscall(SYS_futex, &word, FUTEX_WAIT, 1, &limit, nullptr, 0);
}

}  // namespace hr::transport::shm

#include "transport/shm/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <ctime>

#include "base/process_barrier.hpp"

namespace hr::transport::shm {
namespace {
// Atomic, because a thread that connects to other processes writes it while others sleep.
std::atomic<bool> barrier_available = false;

// Number of fences that found no thread of a receiver armed, since this process last cleared a receiver's flags.
std::atomic<std::uint32_t> fences = 0;

// Counts a fence that found no thread armed. After many, clears the flags: the owner presumably no longer sleeps.
void count_fence(std::atomic<std::uint64_t>& state, std::uint64_t now) noexcept {
  if ((now & Doorbell::kSettled) == 0) return;
  const std::uint32_t so_far = fences.load(std::memory_order_relaxed) + 1;
  fences.store(so_far % Doorbell::kMostFences, std::memory_order_relaxed);
  if (so_far < Doorbell::kMostFences) return;
  const std::uint64_t plain = std::uint64_t{Doorbell::rings_in(now) + 1} << 32;
  state.compare_exchange_strong(now, plain, std::memory_order_relaxed);
}

// Returns the address of the half of the state on which sleepers wait.
std::uint32_t* futex_of(std::atomic<std::uint64_t>& state) noexcept {
  static_assert(sizeof state == 8 && std::atomic<std::uint64_t>::is_always_lock_free);
  return reinterpret_cast<std::uint32_t*>(&state) + (std::endian::native == std::endian::little ? 1 : 0);
}
}  // namespace

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
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint64_t now = state.load(std::memory_order_relaxed);
  std::uint64_t rung;
  do {
    if (armed_in(now) == 0) return count_fence(state, now);
    rung = (std::uint64_t{rings_in(now) + 1} << 32) | (now & (kFenced | kSettled));
  } while (!state.compare_exchange_weak(now, rung, std::memory_order_acq_rel, std::memory_order_relaxed));
  ::syscall(SYS_futex, futex_of(state), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t Doorbell::arm() noexcept {
  const std::uint64_t before = state.fetch_add(1, std::memory_order_seq_cst);
  if ((before & kSettled) == 0) make_senders_fence(rings_in(before));
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return rings_in(before);
}

void Doorbell::make_senders_fence(std::uint32_t rings) noexcept {
  if (!barrier_available.load(std::memory_order_relaxed)) return;
  state.fetch_or(kFenced, std::memory_order_seq_cst);
  if (!process_barrier::barrier()) return;
  std::uint64_t now = state.load(std::memory_order_relaxed);
  while (rings_in(now) == rings && !state.compare_exchange_weak(now, now | kSettled, std::memory_order_seq_cst)) {
  }
}

void Doorbell::sleep(std::uint32_t rings, double at_most_seconds) noexcept {
  const bool seen = barrier_available.load(std::memory_order_relaxed);
  const double seconds = seen ? at_most_seconds : std::min(at_most_seconds, kBlindSleepSeconds);
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(seconds);
  limit.tv_nsec = static_cast<long>((seconds - static_cast<double>(limit.tv_sec)) * 1e9);
  ::syscall(SYS_futex, futex_of(state), FUTEX_WAIT, rings, &limit, nullptr, 0);
}

void Doorbell::disarm(std::uint32_t rings) noexcept {
  std::uint64_t now = state.load(std::memory_order_acquire);
  while (rings_in(now) == rings &&
         !state.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
  }
}

void register_barrier() noexcept {
  barrier_available.store(process_barrier::register_this_process(), std::memory_order_relaxed);
}

}  // namespace hr::transport::shm

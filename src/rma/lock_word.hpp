// LockWord: the lock of one process's part of a window (MPI 5.0 section 12.5.3), many readers or one writer.
//
// The word is in memory that the processes on a host share, or in private memory of the target, which then takes the
// lock for others. A waiting writer blocks new readers, so that it is not starved. A process that fails while it holds
// the lock keeps it, and waits end because of the failure (p2p/process_failure.hpp). Control: all words of one process
// in a window; the words other than the lock are for exclusion.hpp. Memory order: locking acquires, unlocking releases.
// Threads: any, of any process that maps the word.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_hints.hpp"

namespace hr::rma {

class LockWord {
 public:
  // *waits: true if an earlier attempt has counted this caller as a waiting writer; false at first, and after success.
  bool try_exclusive(bool* waits) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool free = (seen & kWriter) == 0 && (seen & kReaders) == 0;
      if (!free && *waits) return false;
      const std::uint64_t waiting = *waits ? kOneWaiting : 0;
      const std::uint64_t wanted = free ? (seen | kWriter) - waiting : seen + kOneWaiting;
      if (!word_.compare_exchange_weak(seen, wanted, std::memory_order_acquire, std::memory_order_relaxed)) continue;
      *waits = !free;
      return free;
    }
  }
  // Does not count the caller as a waiting writer if it fails.
  bool try_exclusive() noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while ((seen & (kWriter | kReaders)) == 0) {
      if (word_.compare_exchange_weak(seen, seen | kWriter, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  // Stops counting this caller as a waiting writer.
  void stop_waiting(bool* waits) noexcept {
    if (*waits) word_.fetch_sub(kOneWaiting, std::memory_order_relaxed);
    *waits = false;
  }
  bool try_shared() noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while ((seen & ~kReaders) == 0) {
      if (word_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  void release(bool exclusive) noexcept { word_.fetch_sub(exclusive ? kWriter : 1, std::memory_order_release); }

 private:
  static constexpr std::uint64_t kWriter = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kOneWaiting = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kReaders = kOneWaiting - 1;

  std::atomic<std::uint64_t> word_{0};
};

struct alignas(2 * kCacheLine) Control {
  LockWord lock;
  alignas(kCacheLine) std::atomic<std::uint32_t> accumulate{0};
  std::atomic<std::uint32_t> by_lock{0};
  std::atomic<std::uint32_t> vector_bytes{0};
  // Number of the target that this process, as an origin, is updating (Exclusion::number()); 0: none. Written only by
  // this process.
  alignas(kCacheLine) std::atomic<std::uint32_t> updating{0};
};

}  // namespace hr::rma

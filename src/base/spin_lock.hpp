// SpinLock: a test-and-set lock for sections that are short and do not wait for other processes. A waiting thread soon
// yields its core, as the owner may need it. Threads: any; not recursive. Memory order: locking acquires, unlocking
// releases.
#pragma once

#include <atomic>

namespace hr {

class SpinLock {
 public:
  void lock() noexcept {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  [[nodiscard]] bool try_lock() noexcept {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void wait() noexcept;
  std::atomic<bool> held_{false};
};

}  // namespace hr

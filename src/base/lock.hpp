// The library lock: one recursive lock around every entry into the library. It is taken only if several threads may
// enter: if the program has requested MPI_THREAD_MULTIPLE, or there is a progress thread.
//
// Rules: a function below bind/ runs with the lock held and needs no locks of its own, unless its header says that it
// runs on a thread of the library. A waiting loop calls LibraryLock::yield() between two rounds of progress to let
// other threads in; a round itself may also release the lock, for a long copy (p2p/progress.hpp). The program's
// reduction operations and error handlers run with the lock held (they may call MPI). Callbacks of attributes run
// without it: such a callback may wait for a lock of the program whose owner waits for the library lock. A waiting
// thread is counted from its first failed attempt until it has the lock (contended()), so that others can give way.
// Cost with a single thread: one predictable branch.
#pragma once

#include <pthread.h>

#include <atomic>

#include "base/driver_epoch.hpp"

namespace hr {

class LibraryLock {
 public:
  // Called once, in MPI_Init_thread, before other threads may enter.
  static void enable() noexcept;
  // Sets whether there are cores to spare. If so, a thread that waits for the lock spins for as long as a round of
  // progress that submits work to a device may take; otherwise it sleeps sooner. Called with the lock held.
  static void wait_awake(bool awake) noexcept;
  [[nodiscard]] static bool enabled() noexcept { return enabled_; }

  static void acquire() noexcept {
    if (enabled_) [[unlikely]]
      acquire_slow();
  }
  static void release() noexcept {
    if (enabled_) [[unlikely]]
      release_slow();
  }
  // Tries to take the lock for a thread of the library, without waiting: false if another thread has it. Requires
  // enable(); undone by release().
  [[nodiscard]] static bool try_acquire() noexcept;
  // Takes the lock for a call that can do without it. False if the lock is not free within a microsecond or two.
  // Requires enable().
  [[nodiscard]] static bool acquire_soon() noexcept;
  // Number of calls of acquire() by threads that did not hold the lock.
  [[nodiscard]] static unsigned acquisitions() noexcept { return acquisitions_.load(std::memory_order_relaxed); }
  // Lets waiting threads in, if there are any, and then restores the caller's depth of recursion.
  static void yield() noexcept {
    if (enabled_) [[unlikely]]
      yield_slow();
  }
  // Releases the lock entirely for a sleep or a long copy; pass the result to resume(), which waits for the lock.
  [[nodiscard]] static int suspend() noexcept { return enabled_ ? suspend_slow() : 0; }
  static void resume(int depth) noexcept {
    if (depth != 0) resume_slow(depth);
  }
  // True if another thread waits for the lock.
  [[nodiscard]] static bool contended() noexcept { return waiters_.load(std::memory_order_relaxed) != 0; }

 private:
  [[nodiscard]] static bool take(int tries, bool sleeps) noexcept;
  static void take_waiting() noexcept;
  static void acquire_slow() noexcept;
  static void release_slow() noexcept;
  static void yield_slow() noexcept;
  static int suspend_slow() noexcept;
  static void resume_slow(int depth) noexcept;

  static inline bool enabled_ = false;
  static inline std::atomic<int> waiters_{0};
  static inline std::atomic<unsigned> acquisitions_{0};
};

// Holds the lock for the duration of one call of the library.
class LibraryGuard {
 public:
  LibraryGuard() noexcept {
    LibraryLock::acquire();
    DriverEpoch::enter();
  }
  ~LibraryGuard() {
    DriverEpoch::leave();
    LibraryLock::release();
  }
  LibraryGuard(const LibraryGuard&) = delete;
  LibraryGuard& operator=(const LibraryGuard&) = delete;
};

}  // namespace hr

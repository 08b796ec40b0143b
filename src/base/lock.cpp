#include "base/lock.hpp"

#include <sched.h>

#include <mutex>

#include "base/clock.hpp"

namespace hr {
namespace {
std::mutex mutex;
// Recursion depth of this thread; nonzero exactly while it holds the mutex. Every call of a program with threads reads
// it, so it uses the initial-exec model; one word fits into the static thread-local storage of that model.
__attribute__((tls_model("initial-exec"))) constinit thread_local int held_depth = 0;
constexpr int kTries = 20;
constexpr int kTriesAwake = 400;
constexpr int kTriesSoon = 40;
std::atomic<int> tries_of_waits{kTries};
}  // namespace

void LibraryLock::enable() noexcept { enabled_ = true; }

void LibraryLock::wait_awake(bool awake) noexcept {
  tries_of_waits.store(awake ? kTriesAwake : kTries, std::memory_order_relaxed);
}

bool LibraryLock::try_acquire() noexcept {
  if (!mutex.try_lock()) return false;
  held_depth = 1;
  return true;
}

// Counts the thread as waiting until the function returns, so that threads that hold the lock in waiting loops give
// way.
bool LibraryLock::take(int tries, bool sleeps) noexcept {
  if (mutex.try_lock()) return true;
  waiters_.fetch_add(1, std::memory_order_relaxed);
  bool locked = false;
  for (int i = 0; i < tries && !locked; ++i) {
    spin_pause();
    locked = mutex.try_lock();
  }
  if (!locked && sleeps) {
    mutex.lock();
    locked = true;
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
  return locked;
}

// Spins first, as a round of progress takes less time than falling asleep.
void LibraryLock::take_waiting() noexcept {
  static_cast<void>(take(tries_of_waits.load(std::memory_order_relaxed), true));
}

void LibraryLock::acquire_slow() noexcept {
  if (held_depth++ != 0) return;
  take_waiting();
  acquisitions_.store(acquisitions() + 1, std::memory_order_relaxed);
}

bool LibraryLock::acquire_soon() noexcept {
  if (held_depth == 0 && !take(kTriesSoon, false)) return false;
  if (held_depth++ == 0) acquisitions_.store(acquisitions() + 1, std::memory_order_relaxed);
  return true;
}

void LibraryLock::release_slow() noexcept {
  // A thread that entered before enable() leaves without holding the lock.
  if (held_depth == 0 || --held_depth != 0) return;
  mutex.unlock();
}

void LibraryLock::yield_slow() noexcept {
  if (!contended()) return;
  const int depth = suspend_slow();
  ::sched_yield();
  resume_slow(depth);
}

int LibraryLock::suspend_slow() noexcept {
  const int depth = held_depth;
  if (depth != 0) {
    held_depth = 0;
    mutex.unlock();
  }
  return depth;
}

void LibraryLock::resume_slow(int depth) noexcept {
  if (depth == 0) return;
  take_waiting();
  held_depth = depth;
}

}  // namespace hr

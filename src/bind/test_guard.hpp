// TestGuard: the guard of calls that only test whether requests are complete (MPI_Test, MPI_Request_get_status and the
// like; `tests` in api/functions/).
//
// If no progress thread is watching, the guard is a LibraryGuard. poll_unless() makes a round of progress, and pauses
// if many such calls in close succession have found nothing (p2p/progress.hpp, TestPacing). If a thread is watching, a
// call that tests waits for the lock only if there is something to report. It tests requests for completion without the
// lock (p2p/request.hpp), and the thread makes progress meanwhile. If the thread has made no round since the last such
// call, it is asleep, busy, or has no core: the call then makes the quick part of a round itself, if it gets the lock
// soon (p2p/progress.hpp). A complete request is reported, even if the call has to wait for the lock.
//
// No call is postponed forever: the thread gives way to threads that wait for the lock, and after many calls in a row
// during which the thread made no round, a call waits for the lock and makes a round itself. Owner: the entry point.
// Threads: each its own.
#pragma once

#include "base/lock.hpp"
#include "p2p/progress.hpp"

namespace hr::bind {

class TestGuard {
 public:
  TestGuard() noexcept {
    if (LibraryLock::enabled()) [[unlikely]]
      begin();
    DriverEpoch::enter();
  }
  ~TestGuard() {
    DriverEpoch::leave();
    if (entered_) LibraryLock::release();
  }
  TestGuard(const TestGuard&) = delete;
  TestGuard& operator=(const TestGuard&) = delete;

  // Makes a round of progress. If a thread is watching, makes only the quick part of a round, and none if known()
  // returns true: the answer is known. May let other threads in.
  template <class Known>
  void poll_unless(Known&& known) {
    if (!watched_) [[likely]] {
      p2p::poll_for_test(known);
    } else if (!known()) {
      test_beside_thread();
    }
  }
  // Makes progress for calls that report all complete requests: like poll_unless(), but once something has moved, makes
  // further rounds until done() is true or nothing moves, up to a limit.
  template <class Known, class Done>
  void poll_on(Known&& known, Done&& done) {
    if (watched_) [[unlikely]]
      return poll_unless(known);
    bool moved = p2p::poll_for_test(known);
    for (int rounds = 0; moved && rounds < kMostRounds && !done(); ++rounds) moved = p2p::poll();
  }
  // True if the guard has the lock, which it then holds until the end of the call.
  [[nodiscard]] bool entered() const noexcept { return entered_; }
  // Takes the lock until the end of the call; needed to report a request that is neither null nor inactive.
  void enter() noexcept {
    if (!entered_) [[unlikely]]
      enter_now();
  }

 private:
  static constexpr int kMostRounds = 64;

  void begin() noexcept;
  void test_beside_thread();
  void enter_now() noexcept;

  bool watched_ = false;
  bool entered_ = true;
};

}  // namespace hr::bind

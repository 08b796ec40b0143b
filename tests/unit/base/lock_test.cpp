#include "base/lock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hr {
namespace {

TEST(LibraryLock, ExcludesAndRecurses) {
  LibraryLock::enable();
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  int counter = 0;  // not atomic: the lock guards it
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        LibraryGuard outer;
        LibraryGuard inner;
        ++counter;
        if (round % 16 == 0) LibraryLock::yield();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter, kThreads * kRounds);
}

TEST(LibraryLock, SuspendLetsOthersInAndResumeRestoresTheDepth) {
  LibraryLock::enable();
  LibraryGuard outer;
  LibraryGuard inner;
  const int depth = LibraryLock::suspend();
  EXPECT_EQ(depth, 2);
  std::thread([] { LibraryGuard guard; }).join();  // would deadlock if the lock were still held
  LibraryLock::resume(depth);
}

TEST(LibraryLock, AcquireSoonGivesUpWhileSomebodyHoldsTheLock) {
  LibraryLock::enable();
  LibraryGuard outer;
  ASSERT_TRUE(LibraryLock::acquire_soon());  // this thread already holds it
  EXPECT_EQ(LibraryLock::suspend(), 2);
  ASSERT_TRUE(LibraryLock::acquire_soon());
  bool entered = true;
  std::thread([&] { entered = LibraryLock::acquire_soon(); }).join();
  EXPECT_FALSE(entered);
  EXPECT_FALSE(LibraryLock::contended());
  LibraryLock::release();
  std::thread([&] {
    entered = LibraryLock::acquire_soon();
    if (entered) LibraryLock::release();
  }).join();
  EXPECT_TRUE(entered);
  LibraryLock::resume(1);
}

// A thread that yields the lock checks for waiting threads: from the moment it first sees one until the lock is free,
// contended() must not be false.
TEST(LibraryLock, WhoWaitsIsCountedUntilItHasTheLock) {
  LibraryLock::enable();
  constexpr int kRounds = 500;
  constexpr int kLooks = 5000;
  std::atomic<int> held{0};
  std::atomic<int> taken{0};
  std::thread waiting([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (held < round) std::this_thread::yield();
      LibraryGuard guard;
      taken = round;
    }
  });
  int lost = 0;
  for (int round = 1; round <= kRounds; ++round) {
    {
      LibraryGuard guard;
      held = round;
      while (!LibraryLock::contended()) {
      }
      for (int look = 0; look < kLooks; ++look) lost += LibraryLock::contended() ? 0 : 1;
    }
    while (taken < round) std::this_thread::yield();
  }
  waiting.join();
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace hr

// The lock of a window: which requests are granted together, and that a writer does not starve.
#include "rma/lock_word.hpp"

#include <gtest/gtest.h>

namespace hr::rma {
namespace {

TEST(LockWord, ReadersShareIt) {
  LockWord lock;
  EXPECT_TRUE(lock.try_shared());
  EXPECT_TRUE(lock.try_shared());
  lock.release(false);
  lock.release(false);
}

TEST(LockWord, AWriterWaitsForEveryReader) {
  LockWord lock;
  bool waits = false;
  ASSERT_TRUE(lock.try_shared());
  ASSERT_TRUE(lock.try_shared());
  EXPECT_FALSE(lock.try_exclusive(&waits));
  EXPECT_TRUE(waits);
  EXPECT_FALSE(lock.try_shared()) << "past a writer that waits";
  lock.release(false);
  EXPECT_FALSE(lock.try_exclusive(&waits));
  lock.release(false);
  EXPECT_TRUE(lock.try_exclusive(&waits));
  EXPECT_FALSE(waits);
  lock.release(true);
  EXPECT_TRUE(lock.try_shared());
}

TEST(LockWord, AWriterKeepsAllOthersOut) {
  LockWord lock;
  bool first = false;
  bool second = false;
  ASSERT_TRUE(lock.try_exclusive(&first));
  EXPECT_FALSE(lock.try_shared());
  EXPECT_FALSE(lock.try_exclusive(&second));
  EXPECT_TRUE(second);
  lock.release(true);
  EXPECT_FALSE(lock.try_shared()) << "past a writer that waits";
  EXPECT_TRUE(lock.try_exclusive(&second));
  lock.release(true);
  EXPECT_TRUE(lock.try_shared());
}

TEST(LockWord, AWaitThatIsGivenUpKeepsNobodyOut) {
  LockWord lock;
  bool waits = false;
  lock.stop_waiting(&waits);
  ASSERT_TRUE(lock.try_shared());
  ASSERT_FALSE(lock.try_exclusive(&waits));
  lock.stop_waiting(&waits);
  EXPECT_FALSE(waits);
  EXPECT_TRUE(lock.try_shared());
}

}  // namespace
}  // namespace hr::rma

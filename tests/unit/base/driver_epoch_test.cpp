#include "base/driver_epoch.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/lock.hpp"

namespace hr {
namespace {

std::uint64_t epoch_of_a_call() {
  const LibraryGuard call;
  return DriverEpoch::current();
}

// A single test, because a process passes through these states once.
TEST(DriverEpoch, EndsWhenTheProgramMayHaveUsedADevice) {
  {
    const LibraryGuard call;
    DriverEpoch::track(~std::uint64_t{0});
    EXPECT_TRUE(DriverEpoch::tracked());
  }
  // Calls follow one another within the gap, however long they take.
  const std::uint64_t first = epoch_of_a_call();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(epoch_of_a_call(), first);
  {
    const LibraryGuard call;
    EXPECT_EQ(DriverEpoch::after_callback(7), 7);
  }
  const std::uint64_t second = epoch_of_a_call();
  EXPECT_NE(second, first);
  {
    const LibraryGuard call;
    EXPECT_EQ(DriverEpoch::current(), second);
    EXPECT_NE(epoch_of_a_call(), second);  // as in a call from a callback
    EXPECT_NE(DriverEpoch::current(), second);
  }
  // Another device has faster calls, so every gap is now too long.
  {
    const LibraryGuard call;
    DriverEpoch::track(0);
    DriverEpoch::track(1000);  // the shortest gap applies
  }
  const std::uint64_t third = epoch_of_a_call();
  for (const std::uint64_t left = ticks(); ticks() == left;) spin_pause();
  EXPECT_NE(epoch_of_a_call(), third);

  DriverEpoch::set_multithreaded();
  EXPECT_FALSE(DriverEpoch::tracked());
  const LibraryGuard call;
  const std::uint64_t shared = DriverEpoch::current();
  EXPECT_NE(DriverEpoch::current(), shared);
  DriverEpoch::track(~std::uint64_t{0});
  EXPECT_FALSE(DriverEpoch::tracked());
}

}  // namespace
}  // namespace hr

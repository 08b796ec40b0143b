#include "base/turn.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/lock.hpp"

namespace hr {
namespace {

std::uint64_t turn_of_a_call() {
  const LibraryGuard call;
  return Turn::number();
}

// One test: a process has one life of turns.
TEST(Turn, EndsWhenTheProgramMayHaveUsedADevice) {
  {
    const LibraryGuard call;
    Turn::watch(~std::uint64_t{0});
    EXPECT_TRUE(Turn::watched());
  }
  // However long they take, calls are within the gap.
  const std::uint64_t first = turn_of_a_call();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(turn_of_a_call(), first);
  {
    const LibraryGuard call;
    EXPECT_EQ(Turn::after_callback(7), 7);
  }
  const std::uint64_t second = turn_of_a_call();
  EXPECT_NE(second, first);
  {
    const LibraryGuard call;
    EXPECT_EQ(Turn::number(), second);
    EXPECT_NE(turn_of_a_call(), second);  // a call from a callback
    EXPECT_NE(Turn::number(), second);
  }
  // Another device whose calls are quicker: every gap is too long now.
  {
    const LibraryGuard call;
    Turn::watch(0);
    Turn::watch(1000);  // the shortest gap counts
  }
  const std::uint64_t third = turn_of_a_call();
  for (const std::uint64_t left = ticks(); ticks() == left;) spin_pause();
  EXPECT_NE(turn_of_a_call(), third);

  Turn::share();
  EXPECT_FALSE(Turn::watched());
  const LibraryGuard call;
  const std::uint64_t shared = Turn::number();
  EXPECT_NE(Turn::number(), shared);
  Turn::watch(~std::uint64_t{0});
  EXPECT_FALSE(Turn::watched());
}

}  // namespace
}  // namespace hr

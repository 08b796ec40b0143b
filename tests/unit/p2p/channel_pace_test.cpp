#include "p2p/channel_pace.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p::channels {
namespace {

using Step = Pace::Step;

constexpr unsigned kMostRounds = 10'000;
constexpr int kManyThreads = 1000;

// Counts so many threads as waiting on channels that these would have to share their cores.
class ManyWaiting {
 public:
  ManyWaiting() { waiting_on_channels.fetch_add(kManyThreads); }
  ~ManyWaiting() { waiting_on_channels.fetch_sub(kManyThreads); }
  ManyWaiting(const ManyWaiting&) = delete;
  ManyWaiting& operator=(const ManyWaiting&) = delete;
};

// Returns the number of rounds until the pace chooses `wanted`.
unsigned rounds_until(Pace& pace, Step wanted, unsigned moves) {
  unsigned rounds = 1;
  while (pace.next(moves, false) != wanted && rounds < kMostRounds) ++rounds;
  return rounds;
}

void wait_seconds(double seconds) {
  for (const double end = now_seconds() + seconds; now_seconds() < end;) {
  }
}

TEST(ChannelPace, SpinsThenYieldsThenSleeps) {
  const ManyWaiting others;
  Pace pace;
  EXPECT_EQ(pace.next(1, false), Step::kSpin);
  const unsigned yields_after = rounds_until(pace, Step::kYield, 1);
  EXPECT_LT(yields_after, kMostRounds);
  EXPECT_LT(rounds_until(pace, Step::kSleep, 1), kMostRounds);
  EXPECT_EQ(pace.next(1, false), Step::kSleep);
}

TEST(ChannelPace, BeginsAnewIfSomethingMoves) {
  const ManyWaiting others;
  Pace pace;
  ASSERT_LT(rounds_until(pace, Step::kSleep, 1), kMostRounds);
  EXPECT_EQ(pace.next(2, false), Step::kSpin);
  EXPECT_EQ(pace.rounds(), 1U);
}

TEST(ChannelPace, SleepsForLongerTheLongerItWaitsBesideOtherThreads) {
  const ManyWaiting others;
  Pace pace;
  ASSERT_LT(rounds_until(pace, Step::kSleep, 1), kMostRounds);
  const double first = pace.sleep_seconds();
  wait_seconds(20e-3);
  EXPECT_GE(pace.sleep_seconds(), 1e-3);
  EXPECT_LT(first, 1e-3);
  ASSERT_EQ(pace.next(2, false), Step::kSpin);
  ASSERT_LT(rounds_until(pace, Step::kSleep, 2), kMostRounds);
  EXPECT_LT(pace.sleep_seconds(), 1e-3) << "a wait that begins anew sleeps briefly";
}

}  // namespace
}  // namespace hr::p2p::channels

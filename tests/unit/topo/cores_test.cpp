#include "topo/cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <set>

namespace hr::topo {
namespace {

const std::vector<CpuSet> kFour = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
using Placement = std::vector<CpuSet>;

TEST(PlaceRanks, SharesAreEqualAndDisjoint) {
  EXPECT_EQ(place_ranks(kFour, 4, Binding::kShare), kFour);
  EXPECT_EQ(place_ranks(kFour, 2, Binding::kShare), (Placement{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(place_ranks(kFour, 3, Binding::kShare), (Placement{{0, 4}, {1, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(place_ranks(kFour, 1, Binding::kShare), (Placement{{0, 1, 2, 3, 4, 5, 6, 7}}));
}

TEST(PlaceRanks, NoShareWhenRanksOutnumberCores) { EXPECT_EQ(place_ranks(kFour, 5, Binding::kShare), Placement(5)); }

TEST(PlaceRanks, CoreGivesOneCoreAndBeginsAgain) {
  EXPECT_EQ(place_ranks(kFour, 2, Binding::kCore), (Placement{{0, 4}, {1, 5}}));
  EXPECT_EQ(place_ranks({{3}, {9}}, 3, Binding::kCore), (Placement{{3}, {9}, {3}}));
}

TEST(PlaceRanks, NoneBindsNobody) { EXPECT_EQ(place_ranks(kFour, 2, Binding::kNone), Placement(2)); }

// Two sockets of two cores each, as kFour.
const std::vector<CpuSet> kSockets = {{0, 1, 4, 5}, {2, 3, 6, 7}};

TEST(InTurns, PartsAreTakenRoundAndRound) {
  EXPECT_EQ(round_robin(kFour, kSockets, 1), (Placement{{0, 4}, {2, 6}, {1, 5}, {3, 7}}));
  EXPECT_EQ(round_robin(kFour, kSockets, 2), kFour);
  EXPECT_EQ(round_robin(kFour, kFour, 1), kFour);
  const Placement threads = {{0}, {4}, {1}, {5}, {2}, {6}, {3}, {7}};
  EXPECT_EQ(round_robin(threads, kFour, 1), (Placement{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
}

TEST(InTurns, UnevenPartsLoseNoPlace) {
  const Placement uneven = {{0, 4}, {1, 2, 3, 5, 6, 7}};
  EXPECT_EQ(round_robin(kFour, uneven, 1), (Placement{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(round_robin(kFour, {}, 1), Placement());
}

TEST(Widened, EachPlaceBecomesThePartThatHoldsIt) {
  EXPECT_EQ(widened({{2, 6}, {0, 4}, {}}, kSockets), (Placement{kSockets[1], kSockets[0], {}}));
  EXPECT_EQ(widened({{9}}, kSockets), (Placement{{9}}));
}

TEST(Allowed, LevelsHoldOneAnother) {
  const auto threads = allowed(Level::kThread);
  for (const Level level : {Level::kCore, Level::kNuma, Level::kSocket}) {
    const auto parts = allowed(level);
    ASSERT_FALSE(parts.empty());
    std::size_t cpus = 0;
    for (const CpuSet& part : parts) cpus += part.size();
    EXPECT_EQ(cpus, threads.size());
    EXPECT_EQ(widened(threads, parts).size(), threads.size());
  }
}

TEST(PlaceHere, BindsToWhatIsNamed) {
  const auto sockets = allowed(Level::kSocket);
  for (const bool is_round_robin : {false, true}) {
    const Placing placing{.binding = is_round_robin ? Binding::kShare : Binding::kSocket,
                          .is_round_robin = is_round_robin,
                          .round_robin_level = Level::kSocket};
    for (const CpuSet& cpus : place_here(placing, 3)) {
      EXPECT_NE(std::find(sockets.begin(), sockets.end(), cpus), sockets.end());
    }
  }
  for (const CpuSet& cpus : place_here({.binding = Binding::kThread}, 3)) EXPECT_EQ(cpus.size(), 1u);
  EXPECT_EQ(place_here({.binding = Binding::kNone}, 2), Placement(2));
  EXPECT_EQ(place_here({.binding = Binding::kCore, .threads = true}, 1)[0], allowed_cores()[0]);
}

TEST(AllowedCores, StayWithinTheProcessAffinity) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;

  std::set<unsigned> seen;
  for (const CpuSet& core : allowed_cores()) {
    for (const unsigned cpu : core) {
      EXPECT_TRUE(CPU_ISSET(cpu, &before)) << cpu;
      EXPECT_TRUE(seen.insert(cpu).second) << "a CPU is of one core only";
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(CPU_COUNT(&before)));

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowed_cores(), (Placement{{static_cast<unsigned>(first)}}));
  ::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace hr::topo

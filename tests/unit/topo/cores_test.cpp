#include "topo/cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>

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

#include "topo/place.hpp"

#include <gtest/gtest.h>

#include "machines.hpp"

namespace hr::topo {
namespace {

using Policy = Mapping::Policy;
using Numbering = Mapping::Numbering;
using Placement = std::vector<CpuSet>;

Placement placed(const Machine& machine, int ranks, const Mapping& mapping) {
  Placement cpus;
  EXPECT_TRUE(place(machine, ranks, mapping, &cpus).ok()) << take_detail();
  return cpus;
}

std::string refusal(const Machine& machine, int ranks, const Mapping& mapping) {
  Placement cpus;
  EXPECT_FALSE(place(machine, ranks, mapping, &cpus).ok());
  return take_detail();
}

// Puts each rank on one of these cores of big().
Placement on_cores(std::initializer_list<unsigned> numbers) {
  Placement cpus;
  for (const unsigned core : numbers) cpus.push_back(cores(core, core));
  return cpus;
}

TEST(Share, EqualAndOfNeighbours) {
  EXPECT_EQ(placed(big(), 4, {}), (Placement{cores(0, 15), cores(16, 31), cores(32, 47), cores(48, 63)}));
  EXPECT_EQ(placed(big(), 3, {}), (Placement{cores(0, 20), cores(21, 41), cores(42, 63)}));
  EXPECT_EQ(placed(big(), 65, {}), Placement(65)) << "not bound where ranks outnumber cores";
  EXPECT_EQ(placed(big(), 128, {.unit = Level::kThread}).back(), CpuSet{127});
}

TEST(Parts, BunchTakesCoreAfterCore) {
  EXPECT_EQ(placed(big(), 3, {.policy = Policy::kParts}), on_cores({0, 1, 2}));
  const Placement domains = placed(big(), 9, {.policy = Policy::kParts, .bind = Level::kNuma});
  EXPECT_EQ(domains[7], cores(0, 7));
  EXPECT_EQ(domains[8], cores(8, 15));
}

TEST(Parts, GoRound) {
  EXPECT_EQ(placed(big(), 5, {.policy = Policy::kParts, .level = Level::kSocket}), on_cores({0, 32, 1, 33, 2}));
  EXPECT_EQ(placed(big(), 9, {.policy = Policy::kParts, .level = Level::kNuma}),
            on_cores({0, 8, 16, 24, 32, 40, 48, 56, 1}));
  EXPECT_EQ(placed(big(), 3, {.policy = Policy::kParts, .level = Level::kSocket, .bind = Level::kSocket}),
            (Placement{cores(0, 31), cores(32, 63), cores(0, 31)}));
  // Four domains as one part are equivalent to a socket.
  EXPECT_EQ(placed(big(), 3, {.policy = Policy::kParts, .level = Level::kNuma, .group = 4}), on_cores({0, 32, 1}));
  EXPECT_EQ(placed(big(), 3, {.policy = Policy::kParts, .level = Level::kCore, .unit = Level::kThread}),
            (Placement{{0}, {2}, {4}}));
}

TEST(Parts, SoManyOnEach) {
  EXPECT_EQ(placed(big(), 5, {.policy = Policy::kParts, .level = Level::kSocket, .per_part = 2}),
            on_cores({0, 1, 32, 33, 2}))
      << "more than fit go round again, on cores that are free";
  EXPECT_NE(refusal(big(), 5,
                    {.policy = Policy::kParts, .level = Level::kSocket, .per_part = 2, .allow_oversubscription = false})
                .find("room for 4"),
            std::string::npos);
}

TEST(Parts, SeveralCoresEach) {
  EXPECT_EQ(placed(big(), 3, {.policy = Policy::kParts, .level = Level::kSocket, .count = 4}),
            (Placement{cores(0, 3), cores(32, 35), cores(4, 7)}));
  // Three cores per rank: two ranks in a domain of eight, as no rank spans domains while another place is free.
  EXPECT_EQ(placed(big(), 3, {.policy = Policy::kParts, .count = 3}),
            (Placement{cores(0, 2), cores(3, 5), cores(8, 10)}));
  // Twenty ranks of three cores do not fit this way: all domains together hold 16 of these ranks, the sockets 20.
  EXPECT_EQ(placed(big(), 20, {.policy = Policy::kParts, .count = 3})[2], cores(6, 8));
  EXPECT_EQ(placed(big(), 2, {.policy = Policy::kParts, .count = 2, .bind = Level::kNuma}),
            (Placement{cores(0, 7), cores(0, 7)}));
  EXPECT_NE(refusal(big(), 2, {.policy = Policy::kParts, .level = Level::kNuma, .count = 9})
                .find("9 cores for each rank: the largest NUMA domain"),
            std::string::npos);
  EXPECT_NE(refusal(big(), 1, {.policy = Policy::kParts, .count = 65}).find("65 cores"), std::string::npos);
}

TEST(Parts, WhatTheMachineLacksIsAnError) {
  EXPECT_NE(refusal(big(), 1, {.policy = Policy::kParts, .level = Level::kL2}).find("no L2 cache"), std::string::npos);
  EXPECT_NE(refusal(big(), 1, {.policy = Policy::kParts, .bind = Level::kL1}).find("no L1 cache"), std::string::npos);
}

TEST(Parts, WhenAllCoresAreTakenItBeginsAgain) {
  const Machine small = synthetic("pack:1 core:2 pu:1");
  EXPECT_EQ(placed(small, 5, {.policy = Policy::kParts}), (Placement{{0}, {1}, {0}, {1}, {0}}));
  EXPECT_NE(refusal(small, 5, {.policy = Policy::kParts, .allow_oversubscription = false}).find("room for 2"),
            std::string::npos);
  EXPECT_NE(refusal(small, 5, {.allow_oversubscription = false}).find("room for 2"), std::string::npos);
}

TEST(Scatter, IsAsFarAsPossible) {
  EXPECT_EQ(placed(big(), 9, {.policy = Policy::kScatter}), on_cores({0, 32, 8, 40, 16, 48, 24, 56, 1}));
  EXPECT_EQ(placed(big(), 3, {.policy = Policy::kScatter, .count = 2}),
            (Placement{cores(0, 1), cores(32, 33), cores(8, 9)}));
  // Caches inside a domain are used in turn, too.
  const Machine caches = synthetic("pack:1 l3:2 core:2 pu:1");
  EXPECT_EQ(placed(caches, 4, {.policy = Policy::kScatter}), (Placement{{0}, {2}, {1}, {3}}));
}

TEST(Spread, SpacesThreadsOutInTheShare) {
  EXPECT_EQ(placed(big(), 2, {.policy = Policy::kSpread, .count = 4}),
            (Placement{united({cores(0, 0), cores(8, 8), cores(16, 16), cores(24, 24)}),
                       united({cores(32, 32), cores(40, 40), cores(48, 48), cores(56, 56)})}));
  EXPECT_EQ(placed(big(), 64, {.policy = Policy::kSpread, .count = 4})[1], cores(1, 1)) << "no more than the share";
}

TEST(Compact, TakesHardwareThreadsOneAfterTheOther) {
  EXPECT_EQ(placed(big(), 2, {.policy = Policy::kParts, .unit = Level::kThread, .count = 3}),
            (Placement{{0, 1, 2}, {3, 4, 5}}));
}

TEST(Lists, AreTakenAsTheyStand) {
  const Mapping mapping{.policy = Policy::kList, .list = {{3}, {0, 64}}};
  EXPECT_EQ(placed(big(), 3, mapping), (Placement{{3}, {0, 64}, {3}}));
  EXPECT_NE(refusal(big(), 1, {.policy = Policy::kList, .list = {{128}}}).find("CPU 128"), std::string::npos);
  EXPECT_NE(
      refusal(synthetic("core:4 pu:1", {0, 1}), 1, {.policy = Policy::kList, .list = {{2}}}).find("may not be used"),
      std::string::npos);
}

TEST(NumberingOfRanks, WithinAHost) {
  Mapping mapping{.policy = Policy::kParts, .level = Level::kSocket};
  mapping.numbering = Numbering::kFill;
  EXPECT_EQ(placed(big(), 5, mapping), on_cores({0, 1, 2, 32, 33}));
  mapping = {.policy = Policy::kParts};
  mapping.numbering = Numbering::kParts;
  mapping.number_level = Level::kNuma;
  EXPECT_EQ(placed(big(), 10, mapping), on_cores({0, 8, 1, 9, 2, 3, 4, 5, 6, 7}));
}

TEST(Unbound, NobodyIsBound) {
  EXPECT_EQ(placed(big(), 2, {.policy = Policy::kScatter, .bound = false}), Placement(2));
}

// Core 0 has only one thread, core 2 is offline, and the second socket has one core.
TEST(Uneven, PartsLoseNoCore) {
  const Machine machine = synthetic("pack:2 core:3 pu:2", {1, 2, 3, 6, 7});
  EXPECT_EQ(placed(machine, 3, {.policy = Policy::kParts}), (Placement{{1}, {2, 3}, {6, 7}}));
  EXPECT_EQ(placed(machine, 3, {.policy = Policy::kParts, .level = Level::kSocket}), (Placement{{1}, {6, 7}, {2, 3}}));
  EXPECT_EQ(placed(machine, 3, {.policy = Policy::kScatter}), (Placement{{1}, {6, 7}, {2, 3}}));
  EXPECT_EQ(placed(machine, 2, {}), (Placement{{1}, {2, 3, 6, 7}}));
  // One part has fewer than two cores.
  EXPECT_EQ(placed(machine, 2, {.policy = Policy::kParts, .level = Level::kSocket, .count = 2}),
            (Placement{{1, 2, 3}, {1, 2, 3}}));
}

}  // namespace
}  // namespace hr::topo

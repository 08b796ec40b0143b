#include "topo/distribute.hpp"

#include <gtest/gtest.h>

#include "machines.hpp"

namespace hr::topo {
namespace {

using Hosts = std::vector<Host>;
using Order = std::vector<int>;

const Machine& eight() {
  static const Machine machine = synthetic("pack:2 numa:2 core:2 pu:2");
  return machine;
}

Hosts hosts(std::initializer_list<int> slots) {
  Hosts all;
  for (const int each : slots) all.push_back({std::string(1, static_cast<char>('a' + all.size())), each, &eight()});
  return all;
}

Order distributed(const Hosts& all, int ranks, const Mapping& mapping) {
  Order host_of;
  EXPECT_TRUE(distribute(all, ranks, mapping, &host_of).ok()) << take_detail();
  return host_of;
}

TEST(Distribute, SlotsAreFilledHostByHost) {
  EXPECT_EQ(distributed(hosts({2, 4}), 5, {}), (Order{0, 0, 1, 1, 1}));
  EXPECT_EQ(distributed(hosts({8}), 2, {}), (Order{0, 0}));
}

TEST(Distribute, MoreThanSlotsLengthenTheBlocks) {
  EXPECT_EQ(distributed(hosts({2, 2}), 7, {}), (Order{0, 0, 0, 0, 1, 1, 1}));
  Order host_of;
  EXPECT_FALSE(distribute(hosts({2, 2}), 7, {.allow_oversubscription = false}, &host_of).ok());
  EXPECT_NE(take_detail().find("7 ranks: there is room for 4 on 2 hosts"), std::string::npos);
}

TEST(Distribute, HostsWithoutSlotsShareEqually) {
  EXPECT_EQ(distributed(hosts({0, 0}), 5, {}), (Order{0, 0, 0, 1, 1}));
  EXPECT_EQ(distributed(hosts({0, 4}), 8, {}), (Order{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(distributed(hosts({0, 0, 0}), 2, {}), (Order{0, 1}));
}

TEST(Distribute, SoManyAHost) {
  EXPECT_EQ(distributed(hosts({0, 0}), 5, {.per_host = 2}), (Order{0, 0, 1, 1, 0})) << "begins again, as under Hydra";
  EXPECT_EQ(distributed(hosts({0, 0}), 8, {.per_host = 2}), (Order{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(distributed(hosts({0, 0}), 5, {.policy = Mapping::Policy::kParts, .level = Level::kNuma, .per_part = 1}),
            (Order{0, 0, 0, 0, 1}));
  EXPECT_EQ(fitting_ranks(hosts({0, 0}), {.per_host = 3}), 6);
  EXPECT_EQ(fitting_ranks(hosts({0, 0}), {.level = Level::kSocket, .per_part = 2}), 8);
  EXPECT_EQ(fitting_ranks(hosts({3, 4}), {}), 7);
  EXPECT_EQ(fitting_ranks(hosts({0, 0}), {}), 2);
}

TEST(Distribute, RoundRobinOverHosts) {
  EXPECT_EQ(distributed(hosts({4, 4}), 5, {.hosts = Mapping::Hosts::kNode}), (Order{0, 1, 0, 1, 0}));
  EXPECT_EQ(distributed(hosts({1, 4}), 4, {.hosts = Mapping::Hosts::kNode}), (Order{0, 1, 1, 1}))
      << "the first is full";
}

TEST(Distribute, AllHostsAsOne) {
  EXPECT_EQ(distributed(hosts({4, 4}), 6,
                        {.hosts = Mapping::Hosts::kSpan, .policy = Mapping::Policy::kParts, .level = Level::kSocket}),
            (Order{0, 0, 1, 1, 0, 0}));
}

TEST(Distribute, Numbering) {
  Mapping by_node{.hosts = Mapping::Hosts::kNode};
  by_node.numbering = Mapping::Numbering::kSlot;
  EXPECT_EQ(distributed(hosts({4, 4}), 5, by_node), (Order{0, 0, 0, 1, 1}));
  Mapping by_slot;
  by_slot.numbering = Mapping::Numbering::kNode;
  EXPECT_EQ(distributed(hosts({4, 4}), 6, by_slot), (Order{0, 1, 0, 1, 0, 0}));
  Mapping span{.policy = Mapping::Policy::kParts, .level = Level::kSocket};
  span.numbering = Mapping::Numbering::kSpan;
  EXPECT_EQ(distributed(hosts({4, 4}), 6, span), (Order{0, 0, 1, 1, 0, 0}));
}

TEST(Distribute, NoHostIsAnError) {
  Order host_of;
  EXPECT_FALSE(distribute({}, 1, {}, &host_of).ok());
  EXPECT_FALSE(distribute(hosts({0}), 1, {.level = Level::kL3, .per_part = 2}, &host_of).ok());
  EXPECT_NE(take_detail().find("no L3 cache"), std::string::npos);
}

std::string note_of(const Hosts& all, int ranks, const Mapping& mapping) {
  return oversubscription(all, distributed(all, ranks, mapping), mapping);
}

TEST(Oversubscription, IsSaid) {
  EXPECT_EQ(note_of(hosts({0}), 8, {}), "");
  EXPECT_EQ(note_of(hosts({0}), 9, {}), "oversubscribed: 9 ranks on a, which has 8 cores");
  EXPECT_EQ(note_of(hosts({0}), 16, {.unit = Level::kThread}), "");
  EXPECT_EQ(note_of(hosts({0}), 3, {.policy = Mapping::Policy::kParts, .count = 3}),
            "oversubscribed: 3 ranks of 3 cores on a, which has 8 cores");
  EXPECT_EQ(note_of(hosts({2, 2, 2}), 8, {}),
            "oversubscribed: 3 ranks on a, which has 2 slots, and more than they have on 1 other host");
  EXPECT_EQ(note_of(hosts({1, 2}), 4, {}), "oversubscribed: 2 ranks on a, which has 1 slot");
}

}  // namespace
}  // namespace hr::topo

#include "coll/shared/teams.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hr::coll::shared {
namespace {

using Places = std::vector<topo::Neighbourhood>;

TEST(Teams, NobodyKnowsIsOneTeam) {
  const Teams teams(Places(5));
  EXPECT_EQ(teams.count(), 1);
  for (int rank = 0; rank < 5; ++rank) {
    if (rank != 3) {
      EXPECT_EQ(teams.parent(rank, 3), 3);
    }
    EXPECT_EQ(teams.relays(rank, 3), rank == 3);
  }
}

// Two memories of two caches of two processes.
TEST(Teams, OneHandsOnForItsMemoryAndOneForItsCache) {
  const Teams teams(Places{{0, 0}, {0, 0}, {0, 2}, {0, 2}, {1, 4}, {1, 4}, {1, 6}, {1, 6}});
  EXPECT_EQ(teams.count(), 4);
  const int parents_of_0[] = {-1, 0, 0, 2, 0, 4, 4, 6};
  const int parents_of_5[] = {5, 0, 0, 2, 5, -1, 5, 6};
  for (int rank = 0; rank < 8; ++rank) {
    if (rank != 0) {
      EXPECT_EQ(teams.parent(rank, 0), parents_of_0[rank]) << rank;
    }
    if (rank != 5) {
      EXPECT_EQ(teams.parent(rank, 5), parents_of_5[rank]) << rank;
    }
  }
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(teams.relays(rank, 0), rank % 2 == 0) << rank;
    EXPECT_EQ(teams.relays(rank, 5), rank == 0 || rank == 2 || rank == 5 || rank == 6) << rank;
  }
}

// Everybody is reached from every root, each cache is entered once, and each memory is.
TEST(Teams, EveryTreeReachesEverybodyAndEntersATeamOnce) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    Places places(1 + random() % 40);
    for (topo::Neighbourhood& place : places) {
      place.memory = static_cast<int>(random() % 4) - 1;
      place.cache = 10 * place.memory + static_cast<int>(random() % 3);
    }
    const Teams teams(places);
    const int size = static_cast<int>(places.size());
    const int root = static_cast<int>(random() % places.size());
    std::vector<int> entered_cache(places.size()), entered_memory(places.size());
    const auto at = [&](int rank) { return places[static_cast<std::size_t>(rank)]; };
    for (int rank = 0; rank < size; ++rank) {
      if (rank == root) continue;
      int steps = 0;
      for (int above = rank; above != root; above = teams.parent(above, root)) {
        ASSERT_LE(++steps, 3);
        EXPECT_TRUE(teams.relays(teams.parent(above, root), root));
      }
      const int parent = teams.parent(rank, root);
      for (std::size_t first = 0; first < places.size(); ++first) {
        const bool here = places[first] == at(rank), memory_here = places[first].memory == at(rank).memory;
        if (here && at(parent) != at(rank)) ++entered_cache[first];
        if (memory_here && at(parent).memory != at(rank).memory) ++entered_memory[first];
      }
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_EQ(entered_cache[i], places[i] == at(root) ? 0 : 1);
      EXPECT_EQ(entered_memory[i], places[i].memory == at(root).memory ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace hr::coll::shared

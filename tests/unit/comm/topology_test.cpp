// Topology arithmetic (chapter 8).
#include "comm/topology.hpp"

#include <gtest/gtest.h>

#include <climits>

#include "base/abi.hpp"

namespace hr::comm {
namespace {

using List = std::vector<int>;

TEST(CartesianTest, RowMajorThereAndBack) {
  const Cartesian grid({2, 3, 4}, {false, false, false});
  List coords(3);
  for (int rank = 0; rank < 24; ++rank) {
    grid.coords_of(rank, coords.data());
    EXPECT_EQ((coords[0] * 3 + coords[1]) * 4 + coords[2], rank);
    int back = -1;
    ASSERT_TRUE(grid.rank_of(coords.data(), &back).ok());
    EXPECT_EQ(back, rank);
  }
}

TEST(CartesianTest, CoordinatesWrapWhereTheDimensionIsPeriodic) {
  const Cartesian grid({3, 4}, {true, false});
  int rank = -1;
  ASSERT_TRUE(grid.rank_of(List{-1, 2}.data(), &rank).ok());
  EXPECT_EQ(rank, 2 * 4 + 2);
  ASSERT_TRUE(grid.rank_of(List{7, 0}.data(), &rank).ok());
  EXPECT_EQ(rank, 4);
  EXPECT_EQ(grid.rank_of(List{0, 4}.data(), &rank), Status(Errc::kArg));
  EXPECT_EQ(grid.rank_of(List{0, -1}.data(), &rank), Status(Errc::kArg));
}

TEST(CartesianTest, Shifts) {
  const Cartesian grid({3, 4}, {true, false});
  EXPECT_EQ(grid.shifted(1, 0, 1), 5);
  EXPECT_EQ(grid.shifted(1, 0, -1), 9);
  EXPECT_EQ(grid.shifted(1, 0, 3), 1);
  EXPECT_EQ(grid.shifted(1, 0, -7), 9);
  EXPECT_EQ(grid.shifted(1, 1, 1), 2);
  EXPECT_EQ(grid.shifted(0, 1, -1), abi::kProcNull);
  EXPECT_EQ(grid.shifted(3, 1, 1), abi::kProcNull);
  EXPECT_EQ(grid.shifted(3, 1, INT_MAX), abi::kProcNull);
  EXPECT_EQ(grid.shifted(0, 0, -static_cast<std::int64_t>(INT_MIN)), 2 * 4);  // 2^31 mod 3 = 2
}

TEST(CartesianTest, NeighborsInTheStandardsOrder) {
  const Cartesian grid({3, 2}, {true, false});
  const Topology::Neighbors neighbors = grid.neighbors(0);
  EXPECT_EQ(neighbors.sources, (List{4, 2, abi::kProcNull, 1}));
  EXPECT_EQ(neighbors.destinations, neighbors.sources);
}

TEST(CartesianTest, ZeroDimensions) {
  const Cartesian grid({}, {});
  int rank = -1;
  ASSERT_TRUE(grid.rank_of(nullptr, &rank).ok());
  EXPECT_EQ(rank, 0);
  EXPECT_TRUE(grid.neighbors(0).sources.empty());
  EXPECT_EQ(grid.abi_kind(), abi::kCart);
}

TEST(CartesianTest, ChecksItsGrid) {
  int nodes = 0;
  ASSERT_TRUE(check_grid(List{2, 3}, &nodes).ok());
  EXPECT_EQ(nodes, 6);
  ASSERT_TRUE(check_grid(List{65536, 65536, 65536}, &nodes).ok());
  EXPECT_EQ(nodes, INT_MAX);
  EXPECT_EQ(check_grid(List{2, 0}, &nodes), Status(Errc::kDims));
}

TEST(GraphTest, NeighborsAreTheNodesEdges) {
  const Graph graph({2, 3, 4, 6}, {1, 3, 0, 3, 0, 2});  // the standard's example
  EXPECT_EQ(graph.neighbors(0).sources, (List{1, 3}));
  EXPECT_EQ(graph.neighbors(1).sources, (List{0}));
  EXPECT_EQ(graph.neighbors(3).destinations, (List{0, 2}));
  const std::unique_ptr<Topology> copy = graph.clone();
  EXPECT_EQ(copy->abi_kind(), abi::kGraph);
  EXPECT_EQ(copy->neighbors(2).sources, (List{3}));
}

TEST(GraphTest, ChecksItsLists) {
  EXPECT_TRUE(check_graph(List{1, 2}, List{1, 0}.data()).ok());
  EXPECT_EQ(check_graph(List{2, 1}, List{1, 0}.data()), Status(Errc::kArg));
  EXPECT_EQ(check_graph(List{1, 2}, List{1, 2}.data()), Status(Errc::kArg));
  EXPECT_EQ(check_graph(List{1, 2}, List{-1, 0}.data()), Status(Errc::kArg));
}

TEST(DistGraphTest, KeepsItsEdges) {
  const DistGraph graph({{1, 2}, {10, 20}}, {{3}, {30}}, true);
  EXPECT_EQ(graph.neighbors(0).sources, (List{1, 2}));
  EXPECT_EQ(graph.neighbors(0).destinations, (List{3}));
  EXPECT_EQ(graph.clone()->abi_kind(), abi::kDistGraph);
}

}  // namespace
}  // namespace hr::comm

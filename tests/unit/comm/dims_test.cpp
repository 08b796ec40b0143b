// MPI_Dims_create (section 8.5.2).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "comm/topology.hpp"

namespace hr::comm {
namespace {

using List = std::vector<int>;

List dims(int nodes, List given) {
  EXPECT_TRUE(dims_create(nodes, given).ok()) << take_detail();
  return given;
}

TEST(DimsTest, TheStandardsExamples) {
  EXPECT_EQ(dims(6, {0, 0}), (List{3, 2}));
  EXPECT_EQ(dims(7, {0, 0}), (List{7, 1}));
  EXPECT_EQ(dims(6, {0, 3, 0}), (List{2, 3, 1}));
  List given{0, 3, 0};
  EXPECT_EQ(dims_create(7, given), Status(Errc::kDims));
}

TEST(DimsTest, IsBalanced) {
  EXPECT_EQ(dims(16, {0, 0, 0}), (List{4, 2, 2}));
  EXPECT_EQ(dims(36, {0, 0, 0}), (List{4, 3, 3}));
  EXPECT_EQ(dims(1000000, {0, 0, 0}), (List{100, 100, 100}));
  EXPECT_EQ(dims(1, {0, 0}), (List{1, 1}));
  EXPECT_EQ(dims(5, {5, 1}), (List{5, 1}));
}

// The difference between the largest and the smallest dimension is minimal; grids are the same as in other libraries.
TEST(DimsTest, IsAsCloseAsOtherLibrariesMakeIt) {
  EXPECT_EQ(dims(7488, {0, 0, 0}), (List{26, 18, 16}));
  EXPECT_EQ(dims(4620, {0, 0, 0}), (List{22, 15, 14}));
  EXPECT_EQ(dims(360, {0, 0, 0}), (List{10, 6, 6}));    // the same difference as 9 x 8 x 5
  EXPECT_EQ(dims(1008, {0, 0, 0}), (List{12, 12, 7}));  // a smaller difference than 14 x 9 x 8
  EXPECT_EQ(dims(7425, {0, 0, 0}), (List{27, 25, 11}));
  EXPECT_EQ(dims(2160, {0, 0, 0, 0}), (List{10, 6, 6, 6}));
  EXPECT_EQ(dims(9936, {0, 0, 0, 0, 0}), (List{23, 6, 6, 4, 3}));
  EXPECT_EQ(dims(9916, {0, 0, 0, 0, 0}), (List{67, 37, 2, 2, 1}));
  EXPECT_EQ(dims(7488 * 5, {0, 5, 0, 0}), (List{26, 5, 18, 16}));
}

// Tries every factorisation.
int least_spread(int nodes, int least, int largest, int ndims) {
  if (ndims == 0) return nodes == 1 ? largest - least : 1 << 30;
  int best = 1 << 30;
  for (int each = 1; each <= nodes; ++each) {
    if (nodes % each == 0)
      best = std::min(best, least_spread(nodes / each, std::min(least, each), std::max(largest, each), ndims - 1));
  }
  return best;
}

TEST(DimsTest, NoGridIsCloser) {
  for (int nodes = 1; nodes <= 400; ++nodes) {
    for (const int ndims : {2, 3, 4}) {
      const List found = dims(nodes, List(static_cast<std::size_t>(ndims), 0));
      ASSERT_EQ(found.front() - found.back(), least_spread(nodes, nodes, 1, ndims)) << nodes << " in " << ndims;
    }
  }
}

TEST(DimsTest, AlwaysGivesTheProductInNonIncreasingOrder) {
  for (const int nodes : {1, 2, 30, 97, 210, 4096, 30030, 65537, 510510, 6983776, 735134400, 2147483647}) {
    for (std::size_t ndims = 1; ndims <= 40; ++ndims) {
      const List found = dims(nodes, List(ndims, 0));
      std::int64_t product = 1;
      for (const int dim : found) product *= dim;
      ASSERT_EQ(product, nodes) << ndims;
      ASSERT_TRUE(std::is_sorted(found.rbegin(), found.rend())) << nodes << " in " << ndims;
    }
  }
}

TEST(DimsTest, RefusesWhatCannotBe) {
  List negative{-1, 0};
  EXPECT_EQ(dims_create(4, negative), Status(Errc::kDims));
  List full{2, 3};
  EXPECT_EQ(dims_create(4, full), Status(Errc::kDims));
  EXPECT_EQ(dims_create(12, full), Status(Errc::kDims));
  List none{0};
  EXPECT_EQ(dims_create(0, none), Status(Errc::kDims));
  List huge{2147483647, 2147483647, 2147483647, 0};
  EXPECT_EQ(dims_create(4, huge), Status(Errc::kDims));
}

}  // namespace
}  // namespace hr::comm

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

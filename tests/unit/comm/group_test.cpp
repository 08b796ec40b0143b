// Group arithmetic (section 7.3). The process of a test without launcher is number 0.
#include "comm/group.hpp"

#include <gtest/gtest.h>

#include "base/abi.hpp"

namespace hr::comm {
namespace {

std::vector<int> procs(const Ref<Group>& group) { return {group->procs().begin(), group->procs().end()}; }
using List = std::vector<int>;

TEST(GroupTest, KnowsItsOwnRank) {
  EXPECT_EQ(make_group({3, 0, 5})->rank(), 1);
  EXPECT_EQ(make_group({3, 5})->rank(), abi::kUndefined);
  EXPECT_EQ(make_group({}).get(), &group_empty());
  EXPECT_EQ(group_empty().handle(), reinterpret_cast<void*>(abi::kGroupEmpty));
  EXPECT_EQ(predefined_group(abi::kGroupNull), nullptr);
}

TEST(GroupTest, Compares) {
  const Ref<Group> a = make_group({1, 2, 3});
  EXPECT_EQ(compare(*a, *make_group({1, 2, 3})), abi::kIdent);
  EXPECT_EQ(compare(*a, *make_group({3, 1, 2})), abi::kSimilar);
  EXPECT_EQ(compare(*a, *make_group({1, 2})), abi::kUnequal);
  EXPECT_EQ(compare(*a, *make_group({1, 2, 4})), abi::kUnequal);
  EXPECT_EQ(compare(group_empty(), *make_group({})), abi::kIdent);
}

TEST(GroupTest, SetOperationsKeepTheFirstGroupsOrder) {
  const Ref<Group> a = make_group({4, 1, 7});
  const Ref<Group> b = make_group({7, 2, 4});
  EXPECT_EQ(procs(unite(*a, *b)), (List{4, 1, 7, 2}));
  EXPECT_EQ(procs(intersect(*a, *b)), (List{4, 7}));
  EXPECT_EQ(procs(subtract(*a, *b)), (List{1}));
  EXPECT_EQ(subtract(*a, *a).get(), &group_empty());
  EXPECT_TRUE(overlap(*a, *b));
  EXPECT_FALSE(is_subset(*a, *b));
  EXPECT_TRUE(is_subset(group_empty(), *b));
}

TEST(GroupTest, IncludesAndExcludes) {
  const Ref<Group> whole = make_group({10, 11, 12, 13});
  Ref<Group> part;
  ASSERT_TRUE(include(*whole, List{2, 0}, &part).ok());
  EXPECT_EQ(procs(part), (List{12, 10}));
  ASSERT_TRUE(exclude(*whole, List{2, 0}, &part).ok());
  EXPECT_EQ(procs(part), (List{11, 13}));
  ASSERT_TRUE(include(*whole, List{}, &part).ok());
  EXPECT_EQ(part.get(), &group_empty());
  EXPECT_EQ(include(*whole, List{4}, &part), Status(Errc::kRank));
  EXPECT_EQ(include(*whole, List{-1}, &part), Status(Errc::kRank));
  EXPECT_EQ(exclude(*whole, List{1, 1}, &part), Status(Errc::kRank));
  EXPECT_NE(take_detail().find("given twice"), std::string::npos);
}

TEST(GroupTest, Ranges) {
  const Ref<Group> whole = make_group({10, 11, 12, 13, 14, 15, 16});
  Ref<Group> part;
  const int forth_and_back[2][3] = {{0, 5, 2}, {6, 5, -1}};
  ASSERT_TRUE(include_ranges(*whole, 2, forth_and_back, &part).ok());
  EXPECT_EQ(procs(part), (List{10, 12, 14, 16, 15}));
  ASSERT_TRUE(exclude_ranges(*whole, 2, forth_and_back, &part).ok());
  EXPECT_EQ(procs(part), (List{11, 13}));
  const int no_stride[1][3] = {{0, 1, 0}};
  EXPECT_EQ(include_ranges(*whole, 1, no_stride, &part), Status(Errc::kArg));
  const int wrong_way[1][3] = {{3, 1, 1}};
  EXPECT_EQ(include_ranges(*whole, 1, wrong_way, &part), Status(Errc::kArg));
  const int outside[1][3] = {{0, 7, 1}};
  EXPECT_EQ(include_ranges(*whole, 1, outside, &part), Status(Errc::kRank));
  const int twice[2][3] = {{0, 2, 1}, {2, 3, 1}};
  EXPECT_EQ(include_ranges(*whole, 2, twice, &part), Status(Errc::kRank));
  ASSERT_TRUE(include_ranges(*whole, 0, nullptr, &part).ok());
  EXPECT_EQ(part->size(), 0);
}

TEST(GroupTest, Translates) {
  const Ref<Group> a = make_group({5, 6, 7});
  const Ref<Group> b = make_group({7, 5});
  List result(4);
  ASSERT_TRUE(translate(*a, List{0, 1, 2, abi::kProcNull}, *b, result.data()).ok());
  EXPECT_EQ(result, (List{1, abi::kUndefined, 0, abi::kProcNull}));
  EXPECT_EQ(translate(*a, List{3}, *b, result.data()), Status(Errc::kRank));
}

}  // namespace
}  // namespace hr::comm

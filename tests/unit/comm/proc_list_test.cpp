#include "comm/proc_list.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/group.hpp"

namespace hr::comm {
namespace {

TEST(ProcList, ARangeAnswersAsItsTableWould) {
  for (const int stride : {1, 3, -1, -4}) {
    for (const int size : {1, 2, 7}) {
      const ProcList range = ProcList::range(40, stride, size);
      const std::vector<int> all(range.begin(), range.end());
      const ProcList table(all.data(), size);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
      for (int rank = 0; rank < size; ++rank) EXPECT_EQ(range[rank], 40 + rank * stride);
      for (int proc = 0; proc < 80; ++proc) EXPECT_EQ(range.rank_of(proc), table.rank_of(proc)) << proc;
      EXPECT_EQ(range.front(1)[0], 40);
    }
  }
  EXPECT_EQ(ProcList().size(), 0);
  EXPECT_EQ(ProcList().rank_of(0), abi::kUndefined);
}

TEST(ProcList, GroupsFindTheRangeThemselves) {
  EXPECT_TRUE(make_group({4, 6, 8})->procs().is_range());
  EXPECT_TRUE(make_group({5})->procs().is_range());
  EXPECT_TRUE(make_group({9, 2})->procs().is_range());
  const Ref<Group> other = make_group({4, 6, 9});
  EXPECT_FALSE(other->procs().is_range());
  EXPECT_EQ(other->proc(2), 9);
  const Ref<Group> copy = group_of(other->procs());
  EXPECT_EQ(copy->proc(2), 9);
  EXPECT_EQ(compare(*other, *copy), abi::kIdent);
}

}  // namespace
}  // namespace hr::comm

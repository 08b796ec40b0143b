// Sets of ranks: the result of each group function, and a freed group's handle. Results are compared with a group
// created with MPI_Group_incl.
#include <algorithm>
#include <vector>

#include "../common/check.hpp"

namespace {

MPI_Group all = MPI_GROUP_NULL;

MPI_Group of(const std::vector<int>& ranks) {
  MPI_Group group = MPI_GROUP_NULL;
  CHECK_OK(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group));
  return group;
}

void release(MPI_Group& group) {
  CHECK(group != MPI_GROUP_NULL);
  CHECK_OK(MPI_Group_free(&group));
  CHECK(group == MPI_GROUP_NULL);
}

// Checks that the group has these members in this order, and frees the group.
void expect(int line, MPI_Group group, const std::vector<int>& ranks) {
  if (group == MPI_GROUP_NULL) check::fail(__FILE__, line, "no group was made");
  MPI_Group wanted = of(ranks);
  int result = -1, size = -1;
  CHECK_OK(MPI_Group_size(group, &size));
  check::equal(__FILE__, line, "the group's size", size, ranks.size());
  CHECK_OK(MPI_Group_compare(group, wanted, &result));
  check::equal(__FILE__, line, "the comparison", result, MPI_IDENT);
  release(wanted);
  if (group != MPI_GROUP_EMPTY) release(group);
}
#define EXPECT(group, ...) expect(__LINE__, group, __VA_ARGS__)

std::vector<int> upward(int first, int last, int step = 1) {
  std::vector<int> ranks;
  for (int rank = first; rank <= last; rank += step) ranks.push_back(rank);
  return ranks;
}

// Uses two sets: A lacks the last rank and is in descending order; B lacks the first rank and is in ascending order.
void sets(int size) {
  std::vector<int> a = upward(0, std::max(size - 2, 0)), b = upward(size > 1 ? 1 : 0, size - 1);
  std::reverse(a.begin(), a.end());
  const auto in = [](const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  std::vector<int> both, either = a, first_only;
  for (int rank : a) (in(b, rank) ? both : first_only).push_back(rank);
  for (int rank : b) {
    if (!in(a, rank)) either.push_back(rank);
  }
  MPI_Group group_a = of(a), group_b = of(b), made = MPI_GROUP_NULL;
  CHECK_OK(MPI_Group_union(group_a, group_b, &made));
  EXPECT(made, either);
  made = MPI_GROUP_NULL;
  CHECK_OK(MPI_Group_intersection(group_a, group_b, &made));
  EXPECT(made, both);
  made = MPI_GROUP_NULL;
  CHECK_OK(MPI_Group_difference(group_a, group_b, &made));
  EXPECT(made, first_only);
  made = all;  // The result differs from this initial value, even if the result is empty.
  CHECK_OK(MPI_Group_difference(group_a, group_a, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  release(group_a);
  release(group_b);
}

void ranges(int size) {
  MPI_Group made = MPI_GROUP_NULL;
  int even[1][3] = {{0, size - 1, 2}};
  CHECK_OK(MPI_Group_range_excl(all, 1, even, &made));
  EXPECT(made, upward(1, size - 1, 2));
  made = MPI_GROUP_NULL;
  CHECK_OK(MPI_Group_range_incl(all, 1, even, &made));
  EXPECT(made, upward(0, size - 1, 2));
  made = MPI_GROUP_NULL;
  CHECK_OK(MPI_Group_range_excl(all, 0, nullptr, &made));
  EXPECT(made, upward(0, size - 1));
  made = MPI_GROUP_NULL;
  const int first[] = {0};
  CHECK_OK(MPI_Group_excl(all, 1, first, &made));
  EXPECT(made, upward(1, size - 1));
}

void translation(int size) {
  std::vector<int> ranks = upward(0, size - 1), found(static_cast<std::size_t>(size), -7);
  std::vector<int> backwards(ranks.rbegin(), ranks.rend());
  MPI_Group turned = of(backwards), first = of({0});
  CHECK_OK(MPI_Group_translate_ranks(turned, size, ranks.data(), all, found.data()));
  for (std::size_t i = 0; i < ranks.size(); ++i) CHECK_EQ(found[i], backwards[i]);
  CHECK_OK(MPI_Group_translate_ranks(all, size, ranks.data(), first, found.data()));
  for (std::size_t i = 0; i < ranks.size(); ++i) CHECK_EQ(found[i], i == 0 ? 0 : MPI_UNDEFINED);
  const int none[] = {MPI_PROC_NULL};
  found[0] = -7;
  CHECK_OK(MPI_Group_translate_ranks(turned, 1, none, all, found.data()));
  CHECK_EQ(found[0], MPI_PROC_NULL);
  release(turned);
  release(first);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  CHECK(all != MPI_GROUP_NULL);
  int rank = -7;
  CHECK_OK(MPI_Group_rank(all, &rank));
  CHECK_EQ(rank, mpi.rank);
  sets(mpi.size);
  ranges(mpi.size);
  translation(mpi.size);
  release(all);
}

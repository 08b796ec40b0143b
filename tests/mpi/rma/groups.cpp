// Start, complete, post, wait and test with random groups, which all ranks compute from one seed.
#include <random>
#include <vector>

#include "window_memory.hpp"

namespace {

using rma_test::WindowMemory;

MPI_Group group_of(MPI_Win win, const std::vector<int>& ranks) {
  MPI_Group all;
  MPI_Group some;
  CHECK_OK(MPI_Win_get_group(win, &all));
  CHECK_OK(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some));
  CHECK_OK(MPI_Group_free(&all));
  return some;
}

void play(const check::Environment& mpi, const std::string& kind, unsigned seed) {
  WindowMemory memory(kind, static_cast<std::size_t>(mpi.size) * sizeof(int), 4);
  int* const own = static_cast<int*>(memory.own());
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<int> targets;
    std::vector<int> origins;
    for (int from = 0; from < mpi.size; ++from) {
      for (int to = 0; to < mpi.size; ++to) {
        const bool linked = random() % 3 != 0;
        if (linked && from == mpi.rank) targets.push_back(to);
        if (linked && to == mpi.rank) origins.push_back(from);
      }
    }
    const bool tests = random() % 2 == 0;
    for (int i = 0; i < mpi.size; ++i) own[i] = -1;
    MPI_Group to = group_of(memory.window, targets);
    MPI_Group from = group_of(memory.window, origins);
    CHECK_OK(MPI_Win_post(from, round % 3 == 0 ? MPI_MODE_NOSTORE : 0, memory.window));
    CHECK_OK(MPI_Win_start(to, 0, memory.window));
    const int value = 1000 * round + mpi.rank;
    for (const int target : targets) {
      const MPI_Aint place = memory.displacement(target, sizeof(int) * static_cast<std::size_t>(mpi.rank));
      CHECK_OK(MPI_Put(&value, 1, MPI_INT, target, place, 1, MPI_INT, memory.window));
    }
    CHECK_OK(MPI_Win_complete(memory.window));
    if (tests) {
      int done = 0;
      while (done == 0) CHECK_OK(MPI_Win_test(memory.window, &done));
    } else {
      CHECK_OK(MPI_Win_wait(memory.window));
    }
    std::vector<int> wanted(static_cast<std::size_t>(mpi.size), -1);
    for (const int origin : origins) wanted[static_cast<std::size_t>(origin)] = 1000 * round + origin;
    for (int i = 0; i < mpi.size; ++i) CHECK_EQ(own[i], wanted[static_cast<std::size_t>(i)]);
    CHECK_OK(MPI_Group_free(&to));
    CHECK_OK(MPI_Group_free(&from));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  for (const char* kind : {"allocate", "create"}) play(mpi, kind, 7);
  return 0;
}

// Non-blocking collectives are matched in their own sequence: a rank may start one before a blocking collective, and
// another rank after it. The standard does not allow that (section 6.12), but programs do it, and other libraries
// tolerate it.
#include <vector>

#include "common/check.hpp"

namespace {

void play(const check::Environment& mpi, int count, int round) {
  std::vector<int> mine(static_cast<std::size_t>(count), mpi.rank + round), sum(mine.size(), -1);
  MPI_Request request = MPI_REQUEST_NULL;
  const auto start = [&] {
    CHECK_OK(MPI_Iallreduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  };
  const bool first = (mpi.rank + round) % 2 == 0;
  if (first) start();
  int value = mpi.rank == 0 ? round : -1;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK_EQ(value, round);
  std::vector<int> all(static_cast<std::size_t>(mpi.size) * mine.size());
  CHECK_OK(MPI_Allgather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD));
  if (!first) start();
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  const int wanted = mpi.size * (mpi.size - 1) / 2 + mpi.size * round;
  for (int i = 0; i < count; ++i) {
    CHECK_EQ(sum[static_cast<std::size_t>(i)], wanted);
    for (int rank = 0; rank < mpi.size; ++rank) CHECK_EQ(all[static_cast<std::size_t>(rank * count + i)], rank + round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  for (const int count : {1, 100, 5000, 100000}) {
    for (int round = 0; round < 12; ++round) play(mpi, count, round);
  }
  return 0;
}

// No rank leaves a barrier before all have entered it: each rank writes the number of its barrier to memory that all
// ranks see, after a random delay, and checks the number of every other rank when it leaves. This runs in three forms,
// on MPI_COMM_WORLD and on a communicator in another order, more often than a communicator has sets of flag lines.
#include <cstdio>

#include "coll_test.hpp"
#include "common/flags.hpp"

using namespace coll_test;

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  {
    Choices choices;
    std::mt19937 delays(static_cast<unsigned>(mpi.rank) + 1);
    check::Flags arrived(mpi);
    MPI_Comm reversed = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mpi.rank, &reversed));
    for (int round = 1; round <= 100; ++round) {
      const MPI_Comm comm = choices.flip() ? MPI_COMM_WORLD : reversed;
      const auto form = static_cast<Form>(choices.below(3));
      for (unsigned left = delays() % 4 * (delays() % 4000); left > 0; --left) asm volatile("");
      arrived.set(round);
      EXECUTE(form, B, b, arrier, comm);
      for (int rank = 0; rank < mpi.size; ++rank) {
        // The others may have entered the next barrier, which waits for this rank.
        CHECK(arrived.of(rank) == round || arrived.of(rank) == round + 1);
      }
    }
    CHECK_OK(MPI_Comm_free(&reversed));
  }
  return 0;
}

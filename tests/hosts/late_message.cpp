// Rank 0 waits for a line of input, and then sends the first message between two ranks.
#include <mpi.h>

#include <cstdio>

#include "common/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = -1;
  if (check::world_rank() == 0) {
    std::puts("waits");
    std::fflush(stdout);
    CHECK(std::getchar() == '\n');
    value = 42;
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 42);
    std::puts("received");
  }
  return MPI_Finalize();
}

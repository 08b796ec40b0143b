/* A rank computes, and the others wait for it longer than the checker's time limit: this is not a deadlock. */
#include <mpi.h>
#include <unistd.h>

#include "wrong.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, data = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Passing time is the subject of this test. */
  if (rank == size - 1) usleep(1500000);
  if (rank > 0) MPI_Send(&data, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
  if (rank < size - 1) MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

/* Ranks 0 and 1 receive from each other, and no rank has sent; the others wait for them in a collective. EXIT any */
/* EXPECT check full: deadlock: rank 0 waits in MPI_Recv from rank 1 with tag 3 of MPI_COMM_WORLD at {zero}\(main\),
 * rank 1 waits in MPI_Recv from rank 0 with any tag of MPI_COMM_WORLD at {one}\(main\); no other rank can end it */
/* EXPECT check full: deadlock: rank 2 waits in MPI_Barrier for all members of MPI_COMM_WORLD at {barrier}\(main\) */
/* EXPECT check full: a deadlock */
#include <mpi.h>

#include "wrong.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, data;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Recv(&data, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* HERE zero */
  } else if (rank == 1) {
    MPI_Recv(&data, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* HERE one */
  }
  MPI_Barrier(MPI_COMM_WORLD); /* HERE barrier */
  MPI_Finalize();
  return 0;
}

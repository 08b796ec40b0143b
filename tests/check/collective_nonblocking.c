/* Non-blocking collectives that disagree are reported when matched; the one that waits is deadlocked. EXIT any */
/* EXPECT check full: collective: members of the communicator call different functions: rank \d: MPI_I\w+ at
 * collective_nonblocking.c:\d+ \(main\), rank \d: MPI_I\w+ at collective_nonblocking.c:\d+ \(main\); all must */
/* EXPECT check full: deadlock: rank 0 waits in MPI_Wait for all members \(MPI_Ibarrier at {barrier}\(main\)\) at
 * {wait}\(main\), rank 1 waits in MPI_Finalize for all members of MPI_COMM_WORLD at {end}\(main\) */
/* EXPECT check full: a deadlock ends the job */
#include <mpi.h>

#include "wrong.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, data = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Request request;
  if (rank == 0) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request); /* HERE barrier */
  } else {
    MPI_Ibcast(&data, 0, MPI_INT, 0, MPI_COMM_WORLD, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* HERE wait */
  MPI_Finalize();                        /* HERE end */
  return 0;
}

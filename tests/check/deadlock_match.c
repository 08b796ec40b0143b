/* Rank 0 matches a receive whose sender never calls MPIX_Matchall, but waits for rank 0. */
/* EXPECT deadlock: rank 0 waits in MPIX_Matchall for the other processes of its requests at {match}\(main\): rank 1
 * with tag 3 \(MPI_Recv_init at {init}\(main\)\), rank 1 waits in MPI_Recv from rank 0 with tag 4 of MPI_COMM_WORLD at
 * {recv}\(main\) */
/* EXPECT a deadlock ends the job */
/* EXIT 1 */
#include <mpi-ext.h>
#include <mpi.h>

#include "wrong.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, data[4] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Request request;
  if (rank == 0) {
    MPI_Recv_init(data, 4, MPI_INT, 1, 3, MPI_COMM_WORLD, &request); /* HERE init */
    MPIX_Matchall(1, &request);                                      /* HERE match */
  } else if (rank == 1) {
    MPI_Recv(data, 4, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* HERE recv */
  }
  MPI_Finalize();
  return 0;
}

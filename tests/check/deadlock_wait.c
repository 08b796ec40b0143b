/* A ring in which all send long messages first; rank 1 waits for a receive; rank 2 is in MPI_Finalize. EXIT any */
/* EXPECT check full: deadlock: .*rank 0 waits in MPI_Send to rank 1 with tag 1 of MPI_COMM_WORLD at
 * {send}\(main\).*rank 1 waits in MPI_Waitall for a message from rank 2 with tag 2 \(MPI_Irecv at {irecv}\(main\)\) at
 * {wait}\(main\) */
/* EXPECT check full: deadlock: rank [012] waits in */
/* EXPECT check full: a deadlock */
#include <mpi.h>

#include "wrong.h"

static int data[1 << 20], more[1 << 20];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(data, 1 << 20, MPI_INT, 1, 1, MPI_COMM_WORLD); /* HERE send */
  } else if (rank == 1) {
    MPI_Request requests[2];
    MPI_Irecv(more, 1, MPI_INT, 2, 2, MPI_COMM_WORLD, &requests[0]); /* HERE irecv */
    MPI_Isend(data, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* HERE wait */
  } else {
    MPI_Ssend(data, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

/* Messages that are never received, and others that are. */
/* EXPECT check full: message: 2 messages of rank 0 with tag 4 of MPI_COMM_WORLD \(3 x MPI_INT, MPI_Send at
 * {twice}\(main\)\) never received */
/* EXPECT check full: message: 1 message of rank 0 with tag 5 of the halo \(1 x MPI_DOUBLE, MPI_Isend at
 * {once}\(main\)\) never received */
/* EXPECT check full: leak: 1 MPI_Comm of MPI_Comm_dup at lost.c */
#include <mpi.h>

#include "wrong.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, data[3] = {1, 2, 3};
  double real = 1;
  MPI_Comm halo;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &halo);
  MPI_Comm_set_name(halo, "the halo");
  if (rank == 0) {
    for (int i = 0; i < 2; ++i) MPI_Send(data, 3, MPI_INT, 1, 4, MPI_COMM_WORLD); /* HERE twice */
    MPI_Send(data, 3, MPI_INT, 1, 6, MPI_COMM_WORLD);
    MPI_Isend(&real, 1, MPI_DOUBLE, 1, 5, halo, &request); /* HERE once */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* Cancelled: not lost. */
    MPI_Issend(data, 3, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Message message;
    MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(data, 3, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize(); /* the communicator's name is printed as long as it exists */
  return 0;
}

/* Messages whose types differ from those of their receives, at equal size; and matching ones built differently. */
/* EXPECT MPI_ERR_TYPE: signature: the message of rank 0 with tag 1 holds 4 x MPI_INT \(MPI_Send at {send}\(main\)\),
 * the receive expects 4 x MPI_FLOAT \(MPI_Recv at {recv}\(main\)\) */
/* EXPECT signature: the message of rank 0 with tag 2 holds 2 x MPI_DOUBLE \(MPI_Isend at {isend}\(main\)\), the receive
 * expects 16 x MPI_BYTE \(MPI_Irecv at {irecv}\(main\)\) */
/* EXPECT signature: the message of rank 0 with tag 3 holds 1 x MPI_DOUBLE \(MPI_Ssend at {ssend}\(main\)\), the receive
 * expects 2 x MPI_FLOAT \(MPI_Recv at {unexpected}\(main\)\) */
/* EXPECT signature: the message of rank 0 with tag 4 holds 100000 x MPI_INT \(MPI_Start at {start}\(main\)\), the
 * receive expects 100000 x MPI_FLOAT \(MPI_Recv at {long}\(main\)\) */
#include <mpi.h>

#include "wrong.h"

static int data[100000];

static void expect(int code) {
  if (class_of(code) != MPI_ERR_TYPE) {
    printf("class %d\n", class_of(code));
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  show_error(code);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request;
  MPI_Datatype pair, mixed;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &mixed);
  MPI_Type_commit(&pair);
  MPI_Type_commit(&mixed);
  if (rank == 0) {
    MPI_Send(data, 4, MPI_INT, 1, 1, MPI_COMM_WORLD);               /* HERE send */
    MPI_Isend(data, 2, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &request); /* HERE isend */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ssend(data, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD); /* HERE ssend */
    MPI_Send_init(data, 100000, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
    MPI_Start(&request); /* HERE start */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Send(data, 3, pair, 1, 5, MPI_COMM_WORLD);
    MPI_Send(data, 6, MPI_INT32_T, 1, 5, MPI_COMM_WORLD);
    MPI_Send(data, 24, MPI_PACKED, 1, 5, MPI_COMM_WORLD);
    MPI_Send(data, 1, mixed, 1, 5, MPI_COMM_WORLD);
    MPI_Send(data, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Irecv(data + 100, 16, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request);                        /* HERE irecv */
    expect(MPI_Recv(data, 4, MPI_FLOAT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* HERE recv */
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Probe(0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(MPI_Recv(data, 2, MPI_FLOAT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* HERE unexpected */
    expect(MPI_Recv(data, 100000, MPI_FLOAT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));      /* HERE long */
    int code = MPI_Recv(data, 6, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    code |= MPI_Recv(data, 3, pair, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    code |= MPI_Recv(data, 24, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    code |= MPI_Recv(data, 7, mixed, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    code |= MPI_Recv(data, 7, mixed, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 9);
  }
  MPI_Type_free(&pair);
  MPI_Type_free(&mixed);
  MPI_Finalize();
  return 0;
}

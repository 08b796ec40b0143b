/* Buffers that are changed or used before their operations are complete, and buffers of one call that overlap. */
/* EXPECT MPI_ERR_BUFFER: buffer: buf \(.*\) of MPI_Isend at {isend}\(main\) was changed before the operation was
 * complete */
/* EXPECT MPI_ERR_BUFFER: buffer: buf \(.*\) overlaps, from .* on, the receive buffer of MPI_Irecv at {irecv}\(main\),
 * which is not complete */
/* EXPECT MPI_Irecv: .*buffer: buf \(.*\) overlaps, .* the receive buffer of MPI_Irecv at {columns}\(main\) */
/* EXPECT MPI_Sendrecv: .*buffer: sendbuf \(.*\) and recvbuf \(.*\) of this call overlap */
/* EXPECT MPI_Wait: .*buffer: buffer \(.*\) of MPI_Ibcast at {ibcast}\(main\) was changed */
/* EXPECT MPI_Allreduce: .*buffer: recvbuf \(.*\) overlaps, .* the receive buffer of MPI_Irecv at {irecv}\(main\) */
/* EXPECT MPI_Wait: .*buffer: buf \(.*\) of MPI_Send_init at {init}\(main\) was changed */
#include <mpi.h>

#include "wrong.h"

static void expect(int code) {
  if (class_of(code) != MPI_ERR_BUFFER) {
    printf("class %d\n", class_of(code));
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  show_error(code);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int a[8] = {0}, b[8] = {0}, c[8] = {0};
  MPI_Request send, receive, other;

  /* Both operations have separate handles, in any order of completion. */
  MPI_Isend(a, 8, MPI_INT, next, 1, MPI_COMM_WORLD, &send); /* HERE isend */
  MPI_Isend(b, 8, MPI_INT, next, 1, MPI_COMM_WORLD, &other);
  MPI_Irecv(c, 8, MPI_INT, before, 1, MPI_COMM_WORLD, &receive);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  b[0] = 1;
  a[7] = 1;
  expect(MPI_Wait(&send, MPI_STATUS_IGNORE));
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Recv(c, 8, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  MPI_Irecv(c, 4, MPI_INT, before, 2, MPI_COMM_WORLD, &receive); /* HERE irecv */
  expect(MPI_Send(c + 3, 4, MPI_INT, next, 3, MPI_COMM_WORLD));
  expect(MPI_Allreduce(a, c, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  MPI_Send(c + 4, 4, MPI_INT, next, 2, MPI_COMM_WORLD);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);

  /* Columns of a matrix: neighbours do not overlap, though their spans do. */
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Irecv(c, 1, column, before, 4, MPI_COMM_WORLD, &receive); /* HERE columns */
  MPI_Irecv(c + 1, 1, column, before, 4, MPI_COMM_WORLD, &other);
  MPI_Request third;
  expect(MPI_Irecv(c + 2, 1, MPI_INT, before, 4, MPI_COMM_WORLD, &third));
  MPI_Send(a, 1, column, next, 4, MPI_COMM_WORLD);
  MPI_Send(a, 1, column, next, 4, MPI_COMM_WORLD);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);

  expect(MPI_Sendrecv(a, 4, MPI_INT, next, 5, a + 2, 4, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI_Sendrecv(a, 4, MPI_INT, next, 5, a + 4, 4, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  MPI_Ibcast(a, 8, MPI_INT, 0, MPI_COMM_SELF, &send); /* HERE ibcast */
  a[0] = 77;
  expect(MPI_Wait(&send, MPI_STATUS_IGNORE));

  MPI_Send_init(a, 8, MPI_INT, next, 6, MPI_COMM_WORLD, &send); /* HERE init */
  for (int i = 0; i < 3; ++i) {
    a[0] = i;
    MPI_Start(&send);
    if (i == 1) a[0] = 99;
    int code = MPI_Wait(&send, MPI_STATUS_IGNORE);
    if (i == 1)
      expect(code);
    else if (code != MPI_SUCCESS)
      MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Recv(c, 8, MPI_INT, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&send);
  MPI_Finalize();
  return 0;
}

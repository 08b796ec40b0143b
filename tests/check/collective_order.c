/* Rank 1 calls another collective than rank 0; then roots, operations and types that do not agree. */
/* EXPECT MPI_ERR_OTHER: collective: members of the communicator call different functions: rank 0: MPI_Bcast at
 * {bcast}\(main\), rank 1: MPI_Reduce at {reduce}\(main\); all must call collectives in the same order|rank 1:
 * MPI_Reduce at {reduce}\(main\), rank 0: MPI_Bcast at {bcast}\(main\) */
/* EXPECT MPI_ERR_ROOT: collective: members of the communicator give different roots: [01] in rank \d: MPI_Bcast at
 * {root}\(main\) */
/* EXPECT MPI_ERR_OP: collective: members of the communicator give different operations: .*MPI_M.. in rank \d:
 * MPI_Allreduce at {op} */
/* EXPECT MPI_ERR_TYPE: collective: members of the communicator give different signatures: .*4 x MPI_FLOAT in rank 1:
 * MPI_Allreduce at {type} */
/* EXPECT MPI_ERR_TYPE: collective: .*3 x MPI_INT in rank 1: MPI_Gather at {count} */
/* EXPECT MPI_ERR_TYPE: signature: what rank 1 sends to rank 0 is not what that expects: rank 1: MPI_Alltoallv at
 * {alltoallv} */
/* EXPECT MPI_ERR_TYPE: signature: what rank 1 sends to rank 0 is not what that expects: rank 1: MPI_Gatherv at
 * {gatherv} */
/* EXPECT MPI_ERR_OTHER: collective: .*functions: .*rank 1: MPI_Win_free at {free} */
/* EXPECT MPI_ERR_OTHER: collective: .*functions: .*rank 1: MPI_Barrier at {late} */
#include <mpi.h>

#include "wrong.h"

static void expect(int code, int class) {
  if (class_of(code) != class) {
    printf("class %d, expected %d\n", class_of(code), class);
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  show_error(code);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, in[64] = {0}, out[64] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code;
  if (rank != 1) {
    code = MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD); /* HERE bcast */
  } else {
    code = MPI_Reduce(in, out, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* HERE reduce */
  }
  expect(code, MPI_ERR_OTHER);
  expect(MPI_Bcast(in, 4, MPI_INT, rank == 1, MPI_COMM_WORLD), MPI_ERR_ROOT);                            /* HERE root */
  expect(MPI_Allreduce(in, out, 4, MPI_INT, rank == 1 ? MPI_MAX : MPI_MIN, MPI_COMM_WORLD), MPI_ERR_OP); /* HERE op */
  code = MPI_Allreduce(in, out, 4, rank == 1 ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);            /* HERE type */
  expect(code, MPI_ERR_TYPE);
  code = MPI_Gather(in, 2 + (rank == 1), MPI_INT, out, 2 + (rank == 1), MPI_INT, 0, MPI_COMM_WORLD); /* HERE count */
  expect(code, MPI_ERR_TYPE);
  int counts[8], wrong[8], places[8];
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    wrong[i] = 1 + (rank == 1 && i == 0);
    places[i] = 3 * i;
  }
  code = MPI_Alltoallv(in, wrong, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD); /* HERE alltoallv */
  expect(code, MPI_ERR_TYPE);
  MPI_Datatype own = rank == 1 ? MPI_FLOAT : MPI_INT;
  code = MPI_Gatherv(in, 1, own, out, counts, places, MPI_INT, 0, MPI_COMM_WORLD); /* HERE gatherv */
  expect(code, MPI_ERR_TYPE);
  MPI_Win win;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win same = win;
  if (rank != 1) {
    code = MPI_Win_fence(0, win);
  } else {
    code = MPI_Win_free(&same); /* HERE free */
  }
  show_error(code);
  MPI_Win_free(&win);
  /* Correct calls are executed, even after wrong ones. */
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size) MPI_Abort(MPI_COMM_WORLD, 9);
  /* The same types, constructed differently. */
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  if (rank == 1) {
    MPI_Bcast(in, 2, pair, 0, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Type_free(&pair);
  /* A non-blocking call is reported when the two are matched; a blocking one returns an error. */
  if (rank != 1) {
    expect(MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_OTHER);
  } else {
    expect(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER); /* HERE late */
  }
  MPI_Finalize();
  return 0;
}

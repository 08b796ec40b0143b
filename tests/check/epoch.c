/* Conflicting accesses of one epoch to a target's memory, and calls outside epochs. */
/* EXPECT MPI_Put: MPI_ERR_RMA_SYNC|error: MPI_Put: MPI_ERR_RMA_SYNC */
/* EXPECT MPI_Win_unlock: MPI_ERR_RMA_SYNC */
/* EXPECT MPI_Put: MPI_ERR_RMA_CONFLICT: epoch: bytes 4 to 7 of the window's memory at rank 0 is written here, and in
 * the same epoch is written by MPI_Put at {put}\(main\) */
/* EXPECT MPI_Get: MPI_ERR_RMA_CONFLICT: epoch: bytes 0 to 3 .* is read here, and in the same epoch is written by
 * MPI_Put at {put}\(main\) */
/* EXPECT MPI_Put: MPI_ERR_RMA_CONFLICT: epoch: .* is written here, and in the same epoch is updated by MPI_Accumulate
 * at {accumulate}\(main\) */
#include <mpi.h>

#include "wrong.h"

static void expect(int code, int class) {
  if (class_of(code) != class) {
    printf("class %d, not %d\n", class_of(code), class);
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  show_error(code);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int *memory, a[4] = {1, 2, 3, 4}, b[4], rank;
  MPI_Win win;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  expect(MPI_Put(a, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  expect(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  MPI_Win_fence(0, win);
  if (rank == 0) {
    MPI_Put(a, 2, MPI_INT, 0, 0, 2, MPI_INT, win); /* HERE put */
    MPI_Put(a, 2, MPI_INT, 0, 2, 2, MPI_INT, win);
    expect(MPI_Put(a, 1, MPI_INT, 0, 1, 1, MPI_INT, win), MPI_ERR_RMA_CONFLICT);
    expect(MPI_Get(b, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_CONFLICT);
    MPI_Accumulate(a, 1, MPI_INT, 0, 8, 1, MPI_INT, MPI_SUM, win); /* HERE accumulate */
    MPI_Accumulate(a, 1, MPI_INT, 0, 8, 1, MPI_INT, MPI_SUM, win);
    expect(MPI_Put(a, 1, MPI_INT, 0, 8, 1, MPI_INT, win), MPI_ERR_RMA_CONFLICT);
  }
  MPI_Win_fence(0, win);
  if (rank == 0) {
    MPI_Get(b, 2, MPI_INT, 0, 0, 2, MPI_INT, win);
    MPI_Get(b + 2, 2, MPI_INT, 0, 1, 2, MPI_INT, win);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Put(a, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    MPI_Put(a, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}

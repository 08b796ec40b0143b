/* The buffer is sent without waiting for the queue that fills it. */
#include "offload.h"

static double a[N];

int main(void) {
  int rank, failed = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  choose_device();
  if (rank == 0) {
#pragma acc enter data create(a)
    for (int i = 0; i < N; ++i) a[i] = 3.0 * i + 1.0;
#pragma acc update device(a) async(1)
#ifdef RIGHT
#pragma acc wait(1)
#endif
#pragma acc host_data use_device(a)
    MPI_Send(a, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
#pragma acc wait
#pragma acc exit data delete(a)
  } else {
    MPI_Recv(a, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#ifdef RIGHT
    failed = wrong_values(a);
#endif
  }
  MPI_Finalize();
  return failed;
}

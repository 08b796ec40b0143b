/* The kernel has written the device copy, but the host buffer is sent. STAGED: also correct, with a copy to the host
 * first. */
#include "offload.h"

static double a[N];

int main(void) {
  int rank, failed = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  choose_device();
  if (rank == 0) {
#pragma omp target enter data map(to : a)
#pragma omp target map(tofrom : a)
    for (int i = 0; i < N; ++i) a[i] = 3.0 * i + 1.0;
#ifdef STAGED
#pragma omp target update from(a)
#endif
#ifdef RIGHT
#pragma omp target data use_device_addr(a)
#endif
    MPI_Send(a, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
#pragma omp target exit data map(delete : a)
  } else {
    MPI_Recv(a, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#if defined RIGHT || defined STAGED
    failed = wrong_values(a);
#endif
  }
  MPI_Finalize();
  return failed;
}

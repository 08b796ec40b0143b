/* No device is chosen, so all ranks of the node use device 0. */
#include "offload.h"

static double a[N];

int main(void) {
  int rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef RIGHT
  choose_device();
#endif
#pragma omp target enter data map(to : a)
#pragma omp target data use_device_addr(a)
  MPI_Sendrecv_replace(a, N, MPI_DOUBLE, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp target exit data map(delete : a)
  MPI_Finalize();
  return 0;
}

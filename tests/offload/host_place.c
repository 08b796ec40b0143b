/* The counts are passed in device memory, but the CPU reads them. */
#include "offload.h"

static double a[2 * N];
static int counts[2] = {N, N}, displacements[2] = {0, N};

int main(void) {
  int rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  choose_device();
#pragma acc enter data copyin(a, counts)
#ifdef RIGHT
#pragma acc host_data use_device(a)
#else
#pragma acc host_data use_device(a, counts)
#endif
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, counts, displacements, MPI_DOUBLE, MPI_COMM_WORLD);
#pragma acc exit data delete(a, counts)
  MPI_Finalize();
  return 0;
}

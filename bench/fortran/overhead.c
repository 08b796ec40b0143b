/* C part of overhead.f90, with the same loops. */
#include <mpi.h>

static double value = 1;

double c_pairs(int count) {
  double got;
  const double start = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    MPI_Send(&value, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF);
    MPI_Recv(&got, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - start) / count;
}

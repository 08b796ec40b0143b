/* The buffer is on device 1, but device 0 is current when it is sent. */
#include "offload.h"

static double a[N];

int main(void) {
  int rank, failed = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (int i = 0; i < N; ++i) a[i] = 3.0 * i + 1.0;
    acc_set_device_num(1, acc_device_nvidia);
#pragma acc enter data copyin(a)
    double* copy = acc_deviceptr(a);
#ifndef RIGHT
    acc_set_device_num(0, acc_device_nvidia);
#endif
    MPI_Send(copy, N / 2, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    MPI_Send(copy + N / 2, N - N / 2, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD); /* the message still appears only once */
  } else {
    MPI_Recv(a, N / 2, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(a + N / 2, N - N / 2, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    failed = wrong_values(a);
  }
  MPI_Finalize();
  return failed;
}

/* The first directive that uses the device is before MPI_Init. */
#include "offload.h"

static double a[N];

int main(void) {
#ifndef RIGHT
#pragma acc enter data copyin(a)
#endif
  MPI_Init(NULL, NULL);
#ifdef RIGHT
  choose_device();
#pragma acc enter data copyin(a)
#endif
#pragma acc exit data delete(a)
  MPI_Finalize();
  return 0;
}

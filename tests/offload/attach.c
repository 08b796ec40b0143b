/* The attached buffer for buffered sends, into which the CPU copies, is in device memory. */
#include "offload.h"

static char room[65536];

int main(void) {
  void* address;
  int size;
  MPI_Init(NULL, NULL);
  choose_device();
#pragma acc enter data copyin(room)
#ifndef RIGHT
#pragma acc host_data use_device(room)
#endif
  MPI_Buffer_attach(room, sizeof room);
  MPI_Buffer_detach(&address, &size);
#pragma acc exit data delete(room)
  MPI_Finalize();
  return 0;
}

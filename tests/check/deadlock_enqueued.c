/* MPI_Finalize waits for a message that no rank sends. On the fake driver. */
/* EXPECT deadlock: rank 0 waits in MPI_Finalize for enqueued operations at {finalize}\(main\): a message from rank 1
 * with tag 3 \(MPIX_Recv_enqueue at {recv}\(main\)\) */
/* EXPECT a deadlock ends the job */
/* EXIT 1 */
#include <dlfcn.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <stdint.h>

#include "wrong.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 9;
  int (*init)(unsigned) = dlsym(driver, "cuInit");
  int (*retain)(void**, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*set_current)(void*) = dlsym(driver, "cuCtxSetCurrent");
  int (*allocate)(uint64_t*, size_t) = dlsym(driver, "cuMemAlloc_v2");
  int (*create_stream)(void**, unsigned) = dlsym(driver, "cuStreamCreate");
  void *context, *stream;
  uint64_t data;
  if (init(0) || retain(&context, 0) || set_current(context) || allocate(&data, 4096) || create_stream(&stream, 1))
    return 9;
  MPI_Info info;
  MPIX_Stream named;
  MPI_Comm comm;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
  MPIX_Stream_create(info, &named);
  MPI_Info_free(&info);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, named, &comm);
  if (rank == 0) MPIX_Recv_enqueue((void*)data, 4, MPI_INT, 1, 3, comm, MPI_STATUS_IGNORE); /* HERE recv */
  MPI_Finalize();                                                                           /* HERE finalize */
  return 0;
}

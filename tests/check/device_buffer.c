/* Device memory: a send buffer that changes, a receive buffer that is used again, data of another type. On the fake
 * driver. */
/* EXPECT MPI_ERR_BUFFER: buffer: buf \(.*\) of MPI_Isend at {isend}\(main\) was changed before the operation was
 * complete */
/* EXPECT MPI_ERR_BUFFER: buffer: buf \(.*\) overlaps, .* the receive buffer of MPI_Irecv at {irecv}\(main\) */
/* EXPECT MPI_ERR_TYPE: signature: the message of rank \d with tag 3 holds 16 x MPI_INT \(MPI_Send at {send}\(main\)\),
 * the receive expects 16 x MPI_FLOAT \(MPI_Irecv at {typed}\(main\)\) */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>

#include "wrong.h"

static void* driver;

static void* function(const char* name) {
  void* found = dlsym(driver, name);
  if (found == NULL) {
    printf("no %s\n", name);
    exit(9);
  }
  return found;
}

static void expect(int code, int class) {
  if (class_of(code) != class) {
    printf("class %d\n", class_of(code));
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  show_error(code);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 9;
  int (*init)(unsigned) = function("cuInit");
  int (*retain)(void**, int) = function("cuDevicePrimaryCtxRetain");
  int (*set_current)(void*) = function("cuCtxSetCurrent");
  int (*allocate)(uint64_t*, size_t) = function("cuMemAlloc_v2");
  int (*copy)(uint64_t, const void*, size_t) = function("cuMemcpyHtoD_v2");
  void* context;
  uint64_t from, to;
  if (init(0) || retain(&context, 0) || set_current(context) || allocate(&from, 4096) || allocate(&to, 4096)) return 9;

  int rank, size, data[1024] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int *const a = (int*)from, *const b = (int*)to;
  copy(from, data, 4096);
  MPI_Request send, receive;

  MPI_Irecv(b, 1024, MPI_INT, before, 1, MPI_COMM_WORLD, &receive);
  MPI_Isend(a, 1024, MPI_INT, next, 1, MPI_COMM_WORLD, &send); /* HERE isend */
  data[1000] = 1;
  copy(from, data, 4096);
  expect(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);

  MPI_Irecv(b, 512, MPI_INT, before, 2, MPI_COMM_WORLD, &receive); /* HERE irecv */
  expect(MPI_Send(b + 511, 512, MPI_INT, next, 2, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  MPI_Send(b + 512, 512, MPI_INT, next, 2, MPI_COMM_WORLD);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);

  MPI_Irecv(b, 16, MPI_FLOAT, before, 3, MPI_COMM_WORLD, &receive); /* HERE typed */
  MPI_Send(a, 16, MPI_INT, next, 3, MPI_COMM_WORLD);                /* HERE send */
  expect(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  MPI_Finalize();
  return 0;
}

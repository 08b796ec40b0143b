/* Operations in streams: buffers, types, collective calls and handles. On the fake driver. */
/* EXPECT MPIX_Isend_enqueue: .*buffer: buf \(.*\) overlaps, .* the receive buffer of MPIX_Irecv_enqueue at
 * {irecv}\(main\), which is not complete */
/* EXPECT MPIX_Allreduce_enqueue: .*buffer: recvbuf \(.*\) overlaps, .* the receive buffer of MPIX_Irecv_enqueue at
 * {irecv}\(main\) */
/* EXPECT MPI_Send: .*buffer: buf \(.*\) overlaps, .* the receive buffer of MPIX_Recv_enqueue at {recv}\(main\), which
 * its stream has not completed */
/* EXPECT MPIX_Send_enqueue: MPI_ERR_BUFFER: buffer: buf \(.*\) of MPIX_Isend_enqueue at {changed}\(main\) was changed
 * before the operation was complete */
/* EXPECT MPIX_Send_enqueue: MPI_ERR_BUFFER: buffer: buf \(.*\) of MPIX_Startall_enqueue at {again}\(main\) was
 * changed */
/* EXPECT MPIX_Send_enqueue: MPI_ERR_TYPE: signature: the message of rank \d with tag 6 holds 16 x MPI_INT
 * \(MPIX_Send_enqueue at {typed}\(main\)\), the receive expects 16 x MPI_FLOAT \(MPIX_Recv_enqueue at
 * {untyped}\(main\)\) */
/* EXPECT MPIX_Startall_enqueue: MPI_ERR_REQUEST: request: the request of MPI_Send_init at {init}\(main\) was started
 * before, and the stream does not wait for that start */
/* EXPECT MPIX_Matchall: MPI_ERR_TYPE: signature: the send of rank \d with tag 8 holds 16 x MPI_INT \(MPI_Send_init at
 * {matched}\(main\)\), the receive expects 16 x MPI_FLOAT \(MPI_Recv_init at {unmatched}\(main\)\) */
/* EXPECT check full: collective: .*MPIX_Allreduce_enqueue at {reduced}\(main\) */
/* EXPECT check full: leak: 1 MPI_Request of MPIX_Isend_enqueue at {forgotten}\(main\) is not given back */
/* EXPECT check full: leak: 1 MPIX_Stream of MPIX_Stream_create at {stream}\(main\) is not given back */
/* EXPECT check full: leak: 1 MPI_Comm of MPIX_Stream_comm_create at {comm}\(main\) is not given back */
/* EXPECT check full: message: 1 message of rank \d with tag 10 of .* \(16 x MPI_INT, MPIX_Send_enqueue at
 * {lost}\(main\)\) never received */
#include <dlfcn.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <stdint.h>

#include "wrong.h"

enum { kBytes = 1 << 20, kInts = kBytes / 4 };

static void* driver;
static int (*synchronize)(void* stream);

static void* function(const char* name) {
  void* found = dlsym(driver, name);
  if (found == NULL) {
    printf("no %s\n", name);
    exit(9);
  }
  return found;
}

static void expect_at(int code, int class, int line) {
  if (class_of(code) != class) {
    printf("line %d: class %d\n", line, class_of(code));
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  if (class != MPI_SUCCESS) show_error(code);
}
#define expect(code, class) expect_at(code, class, __LINE__)
#define right(code) expect_at(code, MPI_SUCCESS, __LINE__)

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
  int (*create_stream)(void**, unsigned) = function("cuStreamCreate");
  synchronize = function("cuStreamSynchronize");
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  void *context, *stream;
  uint64_t from, to, more;
  if (init(0) || retain(&context, rank % 2) || set_current(context) || allocate(&from, kBytes) ||
      allocate(&to, kBytes) || allocate(&more, kBytes) || create_stream(&stream, 1))
    return 9;
  static int data[kInts];
  copy(from, data, kBytes);
  int *const a = (int*)from, *const b = (int*)to, *const c = (int*)more;

  MPI_Info info;
  MPIX_Stream named;
  MPI_Comm comm;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
  right(MPIX_Stream_create(info, &named)); /* HERE stream */
  MPI_Info_free(&info);
  right(MPIX_Stream_comm_create(MPI_COMM_WORLD, named, &comm)); /* HERE comm */
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request send, receive, other = MPI_REQUEST_NULL;

  /* Until the stream waits for a receive, no other operation may use its buffer; then every one may. */
  right(MPIX_Irecv_enqueue(b, 16, MPI_INT, before, 1, comm, &receive)); /* HERE irecv */
  expect(MPIX_Isend_enqueue(b + 15, 16, MPI_INT, next, 1, comm, &other), MPI_ERR_BUFFER);
  expect(MPIX_Allreduce_enqueue(a, b, 16, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  right(MPIX_Isend_enqueue(a, 16, MPI_INT, next, 1, comm, &send));
  right(MPIX_Allreduce_enqueue(a, c, 16, MPI_INT, MPI_SUM, comm)); /* both only read */
  right(MPIX_Wait_enqueue(&receive, MPI_STATUS_IGNORE));
  right(MPIX_Wait_enqueue(&send, MPI_STATUS_IGNORE));
  right(MPIX_Allreduce_enqueue(a, b, 16, MPI_INT, MPI_SUM, comm));
  synchronize(stream);

  /* On another communicator, a call is not ordered after the stream. */
  right(MPIX_Recv_enqueue(b, 16, MPI_INT, before, 2, comm, MPI_STATUS_IGNORE)); /* HERE recv */
  expect(MPI_Send(b, 16, MPI_INT, next, 2, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  MPI_Comm plain;
  MPI_Comm_dup(MPI_COMM_WORLD, &plain);
  right(MPI_Sendrecv(a, 16, MPI_INT, next, 2, c, 16, MPI_INT, before, 2, plain, MPI_STATUS_IGNORE)); /* other memory */
  /* The stream waits, so the message must come from another one: the host, through a request of that communicator. */
  MPI_Request by_host;
  right(MPI_Send_init(a, 16, MPI_INT, next, 2, comm, &by_host));
  right(MPI_Start(&by_host));
  synchronize(stream);
  right(MPI_Wait(&by_host, MPI_STATUS_IGNORE));
  right(MPI_Request_free(&by_host));
  right(MPI_Recv(b, 16, MPI_INT, MPI_PROC_NULL, 2, plain, MPI_STATUS_IGNORE));

  /* A buffer may change until the stream comes to its send, and not between that and the wait. */
  for (int round = 0; round < 2; ++round) {
    MPI_Request persistent[1];
    data[0] = 10 * round + 1;
    if (round == 0) {
      right(MPIX_Isend_enqueue(a, kInts, MPI_INT, next, 3, comm, &send)); /* HERE changed */
    } else {
      right(MPI_Send_init(a, kInts, MPI_INT, next, 3, plain, &persistent[0]));
      right(MPIX_Startall_enqueue(1, persistent, comm)); /* HERE again */
    }
    /* Once the next send is complete, the stream has come to the first one. */
    right(MPIX_Isend_enqueue(c, 16, MPI_INT, next, 4, comm, &other));
    right(MPIX_Recv_enqueue(b, 16, MPI_INT, before, 4, comm, MPI_STATUS_IGNORE));
    right(MPIX_Wait_enqueue(&other, MPI_STATUS_IGNORE));
    synchronize(stream);
    copy(from, data, kBytes);
    MPI_Barrier(MPI_COMM_WORLD);
    right(MPI_Irecv(b, kInts, MPI_INT, before, 3, round == 0 ? comm : plain, &receive));
    right(round == 0 ? MPIX_Wait_enqueue(&send, MPI_STATUS_IGNORE)
                     : MPIX_Waitall_enqueue(1, persistent, MPI_STATUSES_IGNORE));
    right(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    synchronize(stream);
    expect(MPIX_Send_enqueue(a, 16, MPI_INT, MPI_PROC_NULL, 5, comm), MPI_ERR_BUFFER);
    if (round == 1) right(MPI_Request_free(&persistent[0]));
  }

  right(MPIX_Isend_enqueue(a, 16, MPI_INT, next, 7, comm, &send));
  right(MPIX_Recv_enqueue(b, 16, MPI_INT, before, 7, comm, MPI_STATUS_IGNORE));
  right(MPIX_Wait_enqueue(&send, MPI_STATUS_IGNORE));
  if (rank % 2 == 0) right(MPIX_Send_enqueue(a, 16, MPI_INT, next, 6, comm)); /* HERE typed */
  const int source = rank % 2 == 0 ? MPI_PROC_NULL : before;
  right(MPIX_Recv_enqueue(b, 16, MPI_FLOAT, source, 6, comm, MPI_STATUS_IGNORE)); /* HERE untyped */
  synchronize(stream);
  const int code = MPIX_Send_enqueue(a, 16, MPI_INT, MPI_PROC_NULL, 5, comm);
  expect(code, rank % 2 == 0 ? MPI_SUCCESS : MPI_ERR_TYPE);

  MPI_Request pair[2];
  right(MPI_Send_init(a, 16, MPI_INT, next, 7, comm, &pair[0])); /* HERE init */
  right(MPI_Recv_init(b, 16, MPI_INT, before, 7, comm, &pair[1]));
  for (int round = 0; round < 3; ++round) {
    if (round == 2) right(MPIX_Matchall(2, pair));
    right(MPIX_Startall_enqueue(2, pair, comm));
    expect(MPIX_Startall_enqueue(2, pair, comm), MPI_ERR_REQUEST);
    right(MPIX_Waitall_enqueue(2, pair, MPI_STATUSES_IGNORE));
    right(MPIX_Runall_enqueue(2, pair, comm));
  }
  synchronize(stream);
  right(MPI_Request_free(&pair[0]));
  right(MPI_Request_free(&pair[1]));

  right(MPI_Send_init(a, 16, MPI_INT, next, 8, comm, &pair[0]));     /* HERE matched */
  right(MPI_Recv_init(b, 16, MPI_FLOAT, before, 8, comm, &pair[1])); /* HERE unmatched */
  expect(MPIX_Matchall(2, pair), MPI_ERR_TYPE);
  right(MPI_Request_free(&pair[0]));
  right(MPI_Request_free(&pair[1]));

  right(MPIX_Allreduce_enqueue(a, b, 16, MPI_INT, MPI_SUM, comm));
  right(MPIX_Allreduce_enqueue(a, b, 16, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, comm)); /* HERE reduced */
  synchronize(stream);
  MPI_Barrier(plain);
  MPI_Comm_free(&plain);
  /* The mistake may have become known only after the operation. */
  const int reduced = MPIX_Send_enqueue(a, 16, MPI_INT, MPI_PROC_NULL, 5, comm);
  if (reduced != MPI_SUCCESS) right(MPIX_Send_enqueue(a, 16, MPI_INT, MPI_PROC_NULL, 5, comm));

  right(MPIX_Isend_enqueue(a, 16, MPI_INT, MPI_PROC_NULL, 9, comm, &send));   /* HERE forgotten */
  if (rank == 0) right(MPIX_Send_enqueue(data, 16, MPI_INT, next, 10, comm)); /* HERE lost */
  synchronize(stream);
  MPI_Finalize();
  return 0;
}

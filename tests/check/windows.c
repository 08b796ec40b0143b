/* Races in windows: between two origins, between an origin and the target's own loads and stores, and on local buffers.
 * Each case is either incorrect, and some process must get an error of the class given, or its correct counterpart, in
 * which none may. Run with three processes; an argument names the only case to run.
 *
 * Reported without an error: */
/* EXPECT check full: buffer: origin_addr .* gets the same data twice */
/* EXPECT check full: epoch: bytes 0 to 3 .* rank 0 writes them .* rank 2 writes them .*both write the same data */
/* EXPECT check full: buffer: origin_addr .* of MPI_Get at .* was changed before the operation was complete */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wrong.h"

static MPI_Win win;
static int* base;
static int rank, found;
static volatile int sink;
static MPI_Group origins, target;

/* Called for every call: an error is a diagnostic of the checker. */
static void note(int code) {
  if (code == MPI_SUCCESS) return;
  found = class_of(code);
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  printf("rank %d: %s\n", rank, text);
}
#define C(call) note(call)

enum { kElements = 16 };

static void put(volatile int* from, int at) { C(MPI_Put((void*)from, 1, MPI_INT, 1, at, 1, MPI_INT, win)); }
static void get(volatile int* to, int at) { C(MPI_Get((void*)to, 1, MPI_INT, 1, at, 1, MPI_INT, win)); }
static void acc(volatile int* from, MPI_Op op) {
  C(MPI_Accumulate((void*)from, 1, MPI_INT, 1, 0, 1, MPI_INT, op, win));
}
static void fence(void) { C(MPI_Win_fence(0, win)); }
static void barrier(void) { C(MPI_Barrier(MPI_COMM_WORLD)); }

/* Operations by the two origins, 0 and 2, on the target, 1. */
enum { kPut, kGet, kAcc, kProd, kFloat, kRead, kFop, kCas, kShifted, kCustom };
static int values[4];
static void act(int what) {
  static int result[4];
  static float real = 1;
  MPI_Datatype two;
  values[0] = rank + 1;
  switch (what) {
    case kPut:
      put(values, 0);
      break;
    case kGet:
      get(result, 0);
      break;
    case kAcc:
      acc(values, MPI_SUM);
      break;
    case kProd:
      acc(values, MPI_PROD);
      break;
    case kFloat:
      C(MPI_Accumulate(&real, 1, MPI_FLOAT, 1, 0, 1, MPI_FLOAT, MPI_SUM, win));
      break;
    case kRead:
      C(MPI_Get_accumulate(NULL, 0, MPI_INT, result, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_NO_OP, win));
      break;
    case kFop:
      C(MPI_Fetch_and_op(values, result, MPI_INT, 1, 0, MPI_SUM, win));
      break;
    case kCas:
      C(MPI_Compare_and_swap(values, values + 1, result, MPI_INT, 1, 0, win));
      break;
    case kShifted: {
      const int lengths[1] = {1};
      const MPI_Aint at[1] = {2};
      MPI_Type_create_hindexed(1, lengths, at, MPI_INT, &two);
      MPI_Type_commit(&two);
      C(MPI_Accumulate(values, 1, MPI_INT, 1, 0, 1, two, MPI_SUM, win));
      MPI_Type_free(&two);
      break;
    }
    case kCustom:
      MPI_Type_contiguous(2, MPI_INT, &two);
      MPI_Type_commit(&two);
      C(MPI_Accumulate(values, 1, two, 1, 0, 1, two, MPI_SUM, win));
      MPI_Type_free(&two);
      break;
  }
}

static void in_fence(int one, int other) {
  fence();
  if (rank == 0) act(one);
  if (rank == 2) act(other);
  fence();
}
static void in_pscw(int one, int other) {
  if (rank == 1) {
    C(MPI_Win_post(origins, 0, win));
    C(MPI_Win_wait(win));
  } else {
    C(MPI_Win_start(target, 0, win));
    act(rank == 0 ? one : other);
    C(MPI_Win_complete(win));
  }
}
static void in_lock(int type, int one, int other) {
  if (rank == 1) return;
  C(MPI_Win_lock(type, 1, 0, win));
  act(rank == 0 ? one : other);
  C(MPI_Win_unlock(1, win));
}

static void fence_put_put(void) { in_fence(kPut, kPut); }
static void fence_put_get(void) { in_fence(kPut, kGet); }
static void fence_get_put(void) { in_fence(kGet, kPut); }
static void fence_put_acc(void) { in_fence(kPut, kAcc); }
static void fence_get_acc(void) { in_fence(kGet, kAcc); }
static void fence_put_read(void) { in_fence(kPut, kRead); }
static void fence_put_fop(void) { in_fence(kPut, kFop); }
static void fence_acc_float(void) { in_fence(kAcc, kFloat); }
static void fence_acc_prod(void) { in_fence(kAcc, kProd); }
static void fence_acc_shifted(void) { in_fence(kAcc, kShifted); }
static void pscw_put_get(void) { in_pscw(kPut, kGet); }
static void pscw_acc_put(void) { in_pscw(kAcc, kPut); }
static void lock_shared_put_put(void) { in_lock(MPI_LOCK_SHARED, kPut, kPut); }
static void lock_all_flush(void) {
  C(MPI_Win_lock_all(0, win));
  if (rank != 1) act(kPut);
  C(MPI_Win_flush_all(win));
  C(MPI_Win_unlock_all(win));
}
/* The message leaves before the put is complete. */
static void lock_send_unlock(void) {
  int token = 0;
  if (rank == 0) {
    C(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    act(kPut);
    C(MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD));
    C(MPI_Win_unlock(1, win));
  } else if (rank == 2) {
    C(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    in_lock(MPI_LOCK_SHARED, kPut, kPut);
  }
}

static void fence_get_get(void) { in_fence(kGet, kGet); }
static void fence_acc_acc(void) { in_fence(kAcc, kAcc); }
static void fence_get_read(void) { in_fence(kGet, kRead); }
static void fence_acc_read(void) { in_fence(kAcc, kRead); }
static void fence_fop_fop(void) { in_fence(kFop, kFop); }
static void fence_cas_cas(void) { in_fence(kCas, kCas); }
static void fence_acc_custom(void) { in_fence(kAcc, kCustom); }
static void fence_other_place(void) {
  fence();
  if (rank == 0) put(values, 0);
  if (rank == 2) put(values, 1);
  fence();
}
/* Also undefined, but harmless: only reported. */
static void fence_put_alike(void) {
  values[0] = 4;
  fence();
  if (rank != 1) put(values, 0);
  fence();
}
static void fence_between(void) {
  fence();
  if (rank == 0) act(kPut);
  fence();
  if (rank == 2) act(kPut);
  fence();
}
static void pscw_twice(void) {
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Group one;
    const int which = turn == 0 ? 0 : 2;
    MPI_Comm_group(MPI_COMM_WORLD, &one);
    MPI_Group all = one;
    MPI_Group_incl(all, 1, &which, &one);
    MPI_Group_free(&all);
    if (rank == 1) {
      C(MPI_Win_post(one, 0, win));
      C(MPI_Win_wait(win));
    } else if (rank == which) {
      C(MPI_Win_start(target, 0, win));
      act(kPut);
      C(MPI_Win_complete(win));
    }
    MPI_Group_free(&one);
  }
}
static void lock_exclusive(void) { in_lock(MPI_LOCK_EXCLUSIVE, kPut, kPut); }
static void lock_shared_message(void) {
  int token = 0;
  if (rank == 2) C(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  in_lock(MPI_LOCK_SHARED, kPut, kPut);
  if (rank == 0) C(MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD));
}
static void lock_shared_relay(void) {
  int token = 0;
  MPI_Request request;
  if (rank == 2) C(MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  in_lock(MPI_LOCK_SHARED, kPut, kGet);
  if (rank == 0) {
    C(MPI_Isend(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request));
    C(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  if (rank == 1) {
    C(MPI_Irecv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    C(MPI_Wait(&request, MPI_STATUS_IGNORE));
    C(MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD));
  }
}
static void lock_all_barrier(void) {
  C(MPI_Win_lock_all(0, win));
  if (rank == 0) act(kPut);
  C(MPI_Win_flush(1, win));
  barrier();
  if (rank == 2) act(kPut);
  C(MPI_Win_unlock_all(win));
}
/* A lock made of atomic operations. */
static void own_mutex(void) {
  int one = 1, zero = 0, was = 1;
  C(MPI_Win_lock_all(0, win));
  if (rank != 1) {
    do {
      C(MPI_Compare_and_swap(&one, &zero, &was, MPI_INT, 1, 8, win));
      C(MPI_Win_flush(1, win));
    } while (was != 0);
    act(kPut);
    C(MPI_Win_flush(1, win));
    C(MPI_Fetch_and_op(&zero, &was, MPI_INT, 1, 8, MPI_REPLACE, win));
    C(MPI_Win_flush(1, win));
  }
  C(MPI_Win_unlock_all(win));
}

/* --- local buffers, of rank 0 --- */
static volatile int a, b;
static void local(int last) {
  if (rank != 0) return;
  C(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
  MPI_Request request;
  int other = 5;
  switch (last) {
    case 0:
      put(&a, 0);
      a = a + 1;
      break;
    case 1:
      acc(&a, MPI_SUM);
      a = a + 1;
      break;
    case 2:
      get(&a, 0);
      put(&a, 1);
      break;
    case 3:
      get(&a, 0);
      get(&a, 1);
      break;
    case 4:
      get(&a, 0);
      C(MPI_Send((void*)&a, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
      C(MPI_Sendrecv((void*)&a, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case 5:
      put(&a, 0);
      C(MPI_Sendrecv(&other, 1, MPI_INT, 0, 0, (void*)&a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case 6:
      C(MPI_Rput((void*)&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request));
      a = a + 1;
      C(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    case 7:
      put(&a, 0);
      a = a + 1;
      put(&a, 0);
      break;
    case 8:
      C(MPI_Fetch_and_op((void*)&b, (void*)&a, MPI_INT, 1, 0, MPI_SUM, win));
      b = b + 1;
      break;
    case 9:
      C(MPI_Get_accumulate((void*)&a, 1, MPI_INT, (void*)&a, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win));
      break;
    case 10:
      get(&a, 0);
      sink = a;
      break; /* watched */
    case 11:
      get(&a, 0);
      a = 4;
      break; /* watched */
    case 12:
      C(MPI_Fetch_and_op((void*)&b, (void*)&a, MPI_INT, 1, 0, MPI_SUM, win));
      sink = a;
      break; /* watched */
    case 13:
      C(MPI_Irecv((void*)&a, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request));
      sink = a; /* watched */
      C(MPI_Send((void*)&b, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
      C(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    case 20:
      put(&a, 0);
      C(MPI_Win_flush_local(1, win));
      a = a + 1;
      break;
    case 21:
      put(&a, 0);
      put(&a, 1);
      sink = a;
      break;
    case 22:
      get(&a, 0);
      C(MPI_Win_flush(1, win));
      sink = a;
      a = 3;
      break;
    case 23:
      C(MPI_Rput((void*)&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request));
      C(MPI_Wait(&request, MPI_STATUS_IGNORE));
      a = a + 1;
      break;
    case 24:
      C(MPI_Rget((void*)&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request));
      C(MPI_Wait(&request, MPI_STATUS_IGNORE));
      a = a + 1;
      put(&a, 0);
      break;
    case 25:
      C(MPI_Rput((void*)&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request));
      C(MPI_Win_flush(1, win));
      a = a + 1;
      C(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    case 26:
      put(&a, 0);
      C(MPI_Sendrecv((void*)&a, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case 27:
      C(MPI_Fetch_and_op((void*)&b, (void*)&a, MPI_INT, 1, 0, MPI_SUM, win));
      C(MPI_Win_flush_local(1, win));
      sink = a;
      b = a;
      break;
    case 28:
      C(MPI_Irecv((void*)&a, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request));
      C(MPI_Send((void*)&b, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
      C(MPI_Wait(&request, MPI_STATUS_IGNORE));
      sink = a;
      break;
    case 29:
      get(&a, 0);
      get(&a, 0);
      break; /* only reported */
    case 30:
      for (int i = 0; i < 3; ++i) {
        put(&a, 4);
        C(MPI_Win_flush(1, win));
      }
      break;
    case 31:
      get(&a, 0);
      C(MPI_Win_flush_local(1, win));
      get(&a, 1);
      break;
    case 32:
      acc(&a, MPI_SUM);
      C(MPI_Win_flush_local(1, win));
      a = a + 1;
      break;
    case 33:
      C(MPI_Irecv((void*)&a, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request));
      C(MPI_Send((void*)&b, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
      for (int done = 0; !done;) C(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
      sink = a;
      C(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
  }
  C(MPI_Win_unlock(1, win));
}
#define LOCAL(name, number) \
  static void name(void) { local(number); }
LOCAL(put_store, 0)
LOCAL(acc_store, 1)
LOCAL(get_put_buffer, 2)
LOCAL(get_get_buffer, 3)
LOCAL(get_send, 4)
LOCAL(put_receive, 5)
LOCAL(rput_store, 6)
LOCAL(put_store_put, 7)
LOCAL(fop_store, 8)
LOCAL(overlap, 9)
/* A store far from the buffer's start. On one host, where a get delivers immediately. */
static void get_store_far(void) {
  static volatile int many[8];
  if (rank != 0) return;
  C(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
  C(MPI_Get((void*)many, 8, MPI_INT, 1, 0, 8, MPI_INT, win));
  many[6] = 9;
  C(MPI_Win_unlock(1, win));
}
LOCAL(get_load, 10)
LOCAL(get_store, 11)
LOCAL(fop_load, 12)
LOCAL(irecv_load, 13)
LOCAL(put_flush_local_store, 20)
LOCAL(put_put_load, 21)
LOCAL(get_flush_load, 22)
LOCAL(rput_wait_store, 23)
LOCAL(rget_wait_put, 24)
LOCAL(rput_flush_store, 25)
LOCAL(put_send, 26)
LOCAL(fop_flush_load, 27)
LOCAL(irecv_wait_load, 28)
LOCAL(get_again, 29)
LOCAL(put_flush_again, 30)
LOCAL(get_flush_local_get, 31)
LOCAL(acc_flush_local_store, 32)
LOCAL(status_load, 33)

/* --- the target's own accesses --- */
enum { kLoad, kStore, kSend, kReceive };
static void touch(int what) {
  int other = 3;
  switch (what) {
    case kLoad:
      sink = *(volatile int*)base;
      break;
    case kStore:
      *(volatile int*)base = 7;
      break;
    case kSend:
      C(MPI_Sendrecv(base, 1, MPI_INT, 1, 0, &other, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
    case kReceive:
      C(MPI_Sendrecv(&other, 1, MPI_INT, 1, 0, base, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      break;
  }
}
static void at_target(int remote, int own) {
  fence();
  if (rank == 0) act(remote);
  if (rank == 1) touch(own);
  fence();
}
static void put_and_load(void) { at_target(kPut, kLoad); }
static void put_and_store(void) { at_target(kPut, kStore); }
static void get_and_store(void) { at_target(kGet, kStore); }
static void acc_and_load(void) { at_target(kAcc, kLoad); }
static void acc_and_store(void) { at_target(kAcc, kStore); }
static void read_and_store(void) { at_target(kRead, kStore); }
static void fop_and_store(void) { at_target(kFop, kStore); }
static void get_and_receive(void) { at_target(kGet, kReceive); }
static void lock_put_load(void) {
  if (rank == 0) in_lock(MPI_LOCK_SHARED, kPut, kPut);
  if (rank == 1) touch(kLoad);
}
static void lock_put_load_message(void) {
  int token = 0;
  if (rank == 0) {
    in_lock(MPI_LOCK_EXCLUSIVE, kPut, kPut);
    C(MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
  }
  if (rank == 1) {
    touch(kLoad);
    C(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}
static void get_and_load(void) { at_target(kGet, kLoad); }
static void read_and_load(void) { at_target(kRead, kLoad); }
static void fence_load(void) {
  at_target(kPut, kSend + kReceive);
  if (rank == 1) touch(kLoad), touch(kStore);
  fence();
}
static void store_in_peace(void) {
  fence();
  if (rank == 1) touch(kStore);
  fence();
  if (rank == 0) act(kGet);
  fence();
}
static void barrier_load(void) {
  if (rank == 0) in_lock(MPI_LOCK_SHARED, kPut, kPut);
  barrier();
  if (rank == 1) touch(kLoad), touch(kSend);
}
static void message_load(void) {
  int token = 0;
  if (rank == 0) {
    in_lock(MPI_LOCK_SHARED, kPut, kPut);
    C(MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
  }
  if (rank == 1) {
    C(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    touch(kLoad);
  }
}
static void pscw_load(void) {
  in_pscw(kPut, kFop + 100);
  if (rank == 1) touch(kLoad);
}
static void store_post(void) {
  if (rank == 1) touch(kStore);
  in_pscw(kGet, kGet);
}
static void locked_load(void) {
  if (rank == 0) in_lock(MPI_LOCK_EXCLUSIVE, kPut, kPut);
  if (rank == 1) {
    C(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    touch(kLoad);
    C(MPI_Win_unlock(1, win));
  }
}
/* A target that polls a word in its window. */
static void polled(void) {
  C(MPI_Win_lock_all(0, win));
  if (rank == 0) {
    values[0] = 1;
    put(values, 0);
    C(MPI_Win_flush(1, win));
  }
  if (rank == 1) {
    do C(MPI_Win_sync(win));
    while (*(volatile int*)base != 1);
  }
  C(MPI_Win_unlock_all(win));
}

struct Case {
  const char* name;
  void (*run)(void);
  int class; /* 0: right */
  int watched;
};
#define CONFLICT(name) {#name, name, MPI_ERR_RMA_CONFLICT, 0}
#define BUFFER(name) {#name, name, MPI_ERR_BUFFER, 0}
#define RIGHT(name) {#name, name, 0, 0}
static const struct Case kCases[] = {CONFLICT(fence_put_put),
                                     CONFLICT(fence_put_get),
                                     CONFLICT(fence_get_put),
                                     CONFLICT(fence_put_acc),
                                     CONFLICT(fence_get_acc),
                                     CONFLICT(fence_put_read),
                                     CONFLICT(fence_put_fop),
                                     CONFLICT(fence_acc_float),
                                     CONFLICT(fence_acc_prod),
                                     CONFLICT(fence_acc_shifted),
                                     CONFLICT(pscw_put_get),
                                     CONFLICT(pscw_acc_put),
                                     CONFLICT(lock_shared_put_put),
                                     CONFLICT(lock_all_flush),
                                     CONFLICT(lock_send_unlock),
                                     CONFLICT(get_and_receive),
                                     BUFFER(put_store),
                                     BUFFER(acc_store),
                                     BUFFER(get_put_buffer),
                                     BUFFER(get_get_buffer),
                                     BUFFER(get_send),
                                     BUFFER(put_receive),
                                     BUFFER(rput_store),
                                     BUFFER(put_store_put),
                                     BUFFER(fop_store),
                                     BUFFER(overlap),
                                     {"get_store_far", get_store_far, MPI_ERR_BUFFER, 2},
                                     {"get_load", get_load, MPI_ERR_BUFFER, 1},
                                     {"get_store", get_store, MPI_ERR_BUFFER, 1},
                                     {"fop_load", fop_load, MPI_ERR_BUFFER, 1},
                                     {"irecv_load", irecv_load, MPI_ERR_BUFFER, 1},
                                     {"put_and_load", put_and_load, MPI_ERR_RMA_CONFLICT, 1},
                                     {"put_and_store", put_and_store, MPI_ERR_RMA_CONFLICT, 1},
                                     {"get_and_store", get_and_store, MPI_ERR_RMA_CONFLICT, 1},
                                     {"acc_and_load", acc_and_load, MPI_ERR_RMA_CONFLICT, 1},
                                     {"acc_and_store", acc_and_store, MPI_ERR_RMA_CONFLICT, 1},
                                     {"read_and_store", read_and_store, MPI_ERR_RMA_CONFLICT, 1},
                                     {"fop_and_store", fop_and_store, MPI_ERR_RMA_CONFLICT, 1},
                                     {"lock_put_load", lock_put_load, MPI_ERR_RMA_CONFLICT, 1},
                                     {"lock_put_load_message", lock_put_load_message, MPI_ERR_RMA_CONFLICT, 1},

                                     RIGHT(fence_get_get),
                                     RIGHT(fence_acc_acc),
                                     RIGHT(fence_get_read),
                                     RIGHT(fence_acc_read),
                                     RIGHT(fence_fop_fop),
                                     RIGHT(fence_cas_cas),
                                     RIGHT(fence_acc_custom),
                                     RIGHT(fence_other_place),
                                     RIGHT(fence_put_alike),
                                     RIGHT(fence_between),
                                     RIGHT(pscw_twice),
                                     RIGHT(lock_exclusive),
                                     RIGHT(lock_shared_message),
                                     RIGHT(lock_shared_relay),
                                     RIGHT(lock_all_barrier),
                                     RIGHT(own_mutex),
                                     RIGHT(put_flush_local_store),
                                     RIGHT(put_put_load),
                                     RIGHT(get_flush_load),
                                     RIGHT(rput_wait_store),
                                     RIGHT(rget_wait_put),
                                     RIGHT(rput_flush_store),
                                     RIGHT(put_send),
                                     RIGHT(fop_flush_load),
                                     RIGHT(irecv_wait_load),
                                     RIGHT(get_again),
                                     RIGHT(put_flush_again),
                                     RIGHT(get_flush_local_get),
                                     RIGHT(get_and_load),
                                     RIGHT(read_and_load),
                                     RIGHT(fence_load),
                                     RIGHT(barrier_load),
                                     RIGHT(message_load),
                                     RIGHT(pscw_load),
                                     RIGHT(store_post),
                                     RIGHT(locked_load),
                                     RIGHT(acc_flush_local_store),
                                     RIGHT(status_load),
                                     RIGHT(store_in_peace),
                                     RIGHT(polled)};

static int can_watch(void) {
  static int word;
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_W;
  attributes.bp_addr = (unsigned long)&word;
  attributes.bp_len = HW_BREAKPOINT_LEN_1;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  const int file = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
  if (file >= 0) close(file);
#if defined(__x86_64__)
  return file >= 0;
#else
  return 0;
#endif
}

int main(int argc, char** argv) {
  const int watches = can_watch(); /* determined before the checker takes the registers */
  int failed = 0, ran = 0, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int both[2] = {0, 2}, one = 1;
  MPI_Group_incl(all, 2, both, &origins);
  MPI_Group_incl(all, 1, &one, &target);
  MPI_Group_free(&all);
  for (unsigned i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    const struct Case* each = &kCases[i];
    if ((argc > 1 && strcmp(argv[1], each->name) != 0) || (each->watched == 1 && !watches) ||
        (each->watched == 2 && getenv("HEADRACE_AS_HOSTS") != NULL))
      continue;
    MPI_Win_allocate(kElements * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(base, 0, kElements * sizeof(int));
    found = 0;
    barrier();
    each->run();
    barrier();
    barrier();
    int most = 0, least = 0;
    MPI_Allreduce(&found, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    least = most;
    if (least != each->class) {
      if (rank == 0) printf("case %s: class %d, expected %d\n", each->name, most, each->class);
      fflush(stdout);
      failed = 1;
    }
    ++ran;
    MPI_Win_free(&win);
  }
  MPI_Group_free(&origins);
  MPI_Group_free(&target);
  if (rank == 0) printf("%d cases\n", ran);
  fflush(stdout);
  barrier();
  if (failed || ran == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Finalize();
  return 0;
}

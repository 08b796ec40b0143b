/* Pairs of programs: an incorrect one, and a correct one that differs only in the mistake.
 *
 *   pairs list                   prints a line for each pair: name, ranks, and a regular expression for its diagnostic
 *   pairs <name> <wrong|right>
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong, rank, size;
static int a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8], c[8];
static float reals[8];
static int large[1 << 18], other_large[1 << 18];
static const MPI_Comm kWorld = MPI_COMM_WORLD;
static MPI_Request request, second;

/* The type or number with a mistake, which only rank 1 makes. */
static MPI_Datatype type(void) { return wrong && rank == 1 ? MPI_FLOAT : MPI_INT; }
static int one_more(int count) { return count + (wrong && rank == 1); }
static void wait_for(MPI_Request* which) { MPI_Wait(which, MPI_STATUS_IGNORE); }
static void receive(int* to, int count, int from, int tag) {
  MPI_Recv(to, count, MPI_INT, from, tag, kWorld, MPI_STATUS_IGNORE);
}

/* --- handles --- */
static void leak_comm(void) {
  MPI_Comm made;
  MPI_Comm_split(kWorld, 0, rank, &made);
  if (!wrong) MPI_Comm_free(&made);
}
static void leak_type(void) {
  MPI_Datatype made;
  MPI_Type_vector(2, 1, 2, MPI_INT, &made);
  if (!wrong) MPI_Type_free(&made);
}
static void leak_group(void) {
  MPI_Group made;
  MPI_Comm_group(kWorld, &made);
  if (!wrong) MPI_Group_free(&made);
}
static void leak_info(void) {
  MPI_Info made;
  MPI_Info_create(&made);
  if (!wrong) MPI_Info_free(&made);
}
static void leak_window(void) {
  MPI_Win made;
  MPI_Win_create(a, sizeof a, 1, MPI_INFO_NULL, kWorld, &made);
  if (!wrong) MPI_Win_free(&made);
}
static void leak_file(void) {
  MPI_File made;
  MPI_File_open(kWorld, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &made);
  if (!wrong) MPI_File_close(&made);
}
static void add(void* in, void* inout, int* length, MPI_Datatype* of) {
  (void)of;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
static void leak_operation(void) {
  MPI_Op made;
  MPI_Op_create(add, 1, &made);
  if (!wrong) MPI_Op_free(&made);
}
static void on_error(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code; }
static void leak_handler(void) {
  MPI_Errhandler made;
  MPI_Comm_create_errhandler(on_error, &made);
  if (!wrong) MPI_Errhandler_free(&made);
}
static void leak_request(void) {
  MPI_Recv_init(b, 1, MPI_INT, 0, 0, kWorld, &request);
  if (!wrong) MPI_Request_free(&request);
}
static void leak_message(void) {
  MPI_Message message;
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, kWorld);
  if (rank != 1) return;
  MPI_Mprobe(0, 0, kWorld, &message, MPI_STATUS_IGNORE);
  if (!wrong) MPI_Mrecv(b, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* --- signatures --- */
static void type_of_send(void) {
  if (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 0, kWorld);
  if (rank == 1) MPI_Recv(b, 4, type(), 0, 0, kWorld, MPI_STATUS_IGNORE);
}
static void type_of_isend(void) {
  if (rank == 0) MPI_Isend(a, 4, MPI_INT, 1, 0, kWorld, &request);
  if (rank == 1) MPI_Irecv(b, 4, type(), 0, 0, kWorld, &request);
  wait_for(&request);
}
static void type_of_persistent(void) {
  if (rank == 0) MPI_Send_init(a, 4, MPI_INT, 1, 0, kWorld, &request);
  if (rank == 1) MPI_Recv_init(b, 4, type(), 0, 0, kWorld, &request);
  MPI_Start(&request);
  wait_for(&request);
  MPI_Request_free(&request);
}
static void type_of_long_message(void) {
  if (rank == 0) MPI_Send(large, 1 << 18, MPI_INT, 1, 0, kWorld);
  if (rank == 1) MPI_Recv(other_large, 1 << 18, type(), MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, MPI_STATUS_IGNORE);
}
static void type_of_sendrecv(void) {
  MPI_Sendrecv(a, 4, MPI_INT, 1 - rank, 0, b, 4, type(), 1 - rank, 0, kWorld, MPI_STATUS_IGNORE);
}
static void type_of_matched_probe(void) {
  MPI_Message message;
  if (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 0, kWorld);
  if (rank != 1) return;
  MPI_Mprobe(0, 0, kWorld, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(b, 4, type(), &message, MPI_STATUS_IGNORE);
}
static void type_of_struct(void) {
  MPI_Datatype made;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 4};
  const MPI_Datatype parts[] = {type(), MPI_INT};
  MPI_Type_create_struct(2, lengths, places, parts, &made);
  MPI_Type_commit(&made);
  if (rank == 0) MPI_Send(a, 2, MPI_INT, 1, 0, kWorld);
  if (rank == 1) MPI_Recv(b, 1, made, 0, 0, kWorld, MPI_STATUS_IGNORE);
  MPI_Type_free(&made);
}
static void bytes_of_integers(void) {
  if (rank == 0) MPI_Send(a, 16, wrong ? MPI_BYTE : MPI_PACKED, 1, 0, kWorld);
  if (rank == 1) receive(b, 4, 0, 0);
}

/* --- collectives --- */
static void order(void) {
  if (wrong && rank == 1) {
    MPI_Bcast(b, 1, MPI_INT, 0, kWorld);
    MPI_Barrier(kWorld);
  } else {
    MPI_Barrier(kWorld);
    MPI_Bcast(b, 1, MPI_INT, 0, kWorld);
  }
}
static void root(void) { MPI_Bcast(b, 1, MPI_INT, one_more(0), kWorld); }
static void operation(void) { MPI_Allreduce(a, b, 1, MPI_INT, wrong && rank == 1 ? MPI_MAX : MPI_SUM, kWorld); }
static void count_of_allreduce(void) { MPI_Allreduce(a, b, one_more(2), MPI_INT, MPI_SUM, kWorld); }
static void type_of_reduce(void) {
  MPI_Reduce(type() == MPI_FLOAT ? (void*)reals : a, b, 2, type(), MPI_SUM, 0, kWorld);
}
static void type_of_bcast(void) { MPI_Bcast(b, 2, type(), 0, kWorld); }
static void count_of_gather(void) { MPI_Gather(a, one_more(1), MPI_INT, b, 1, MPI_INT, 0, kWorld); }
static void type_of_alltoall(void) { MPI_Alltoall(a, 1, type(), b, 1, type(), kWorld); }
static void counts_of_scatterv(void) {
  const int counts[] = {1, 1, 1}, places[] = {0, 2, 4};
  MPI_Scatterv(a, counts, places, MPI_INT, b, one_more(1), MPI_INT, 0, kWorld);
}
static void creation_of_comm(void) {
  MPI_Comm made;
  if (wrong && rank == 1) {
    MPI_Comm_split(kWorld, 0, 0, &made);
  } else {
    MPI_Comm_dup(kWorld, &made);
  }
  MPI_Comm_free(&made);
}
static void creation_of_window(void) {
  MPI_Win made;
  if (wrong && rank == 1) {
    MPI_Barrier(kWorld);
  } else {
    MPI_Win_create(a, sizeof a, 1, MPI_INFO_NULL, kWorld, &made);
    MPI_Win_free(&made);
  }
}
static void nonblocking_type(void) {
  MPI_Ibcast(b, 2, type(), 0, kWorld, &request);
  wait_for(&request);
}
static void nonblocking_root(void) {
  MPI_Ireduce(a, b, 1, MPI_INT, MPI_SUM, one_more(0), kWorld, &request);
  wait_for(&request);
}

/* --- buffers --- */
static void store_into_send(void) {
  if (rank == 0) MPI_Isend(a, 4, MPI_INT, 1, 0, kWorld, &request);
  if (rank == 0 && wrong) a[0] = 9;
  if (rank == 1) receive(b, 4, 0, 0);
  if (rank == 0) wait_for(&request);
  a[0] = 9;
}
static void send_of_receive_buffer(void) {
  if (rank == 1) MPI_Irecv(b, 4, MPI_INT, 0, 0, kWorld, &request);
  if (rank == 1) MPI_Send(wrong ? b + 3 : b + 4, 1, MPI_INT, 0, 1, kWorld);
  if (rank == 0) receive(c, 1, 1, 1);
  if (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 0, kWorld);
  if (rank == 1) wait_for(&request);
}
static void two_receives(void) {
  if (rank == 1) MPI_Irecv(b, 4, MPI_INT, 0, 0, kWorld, &request);
  if (rank == 1) MPI_Irecv(b + (wrong ? 3 : 4), 4, MPI_INT, 0, 0, kWorld, &second);
  for (int i = 0; i < 2 && rank == 0; ++i) MPI_Send(a, 4, MPI_INT, 1, 0, kWorld);
  if (rank == 1) wait_for(&request);
  if (rank == 1) wait_for(&second);
}
static void buffers_of_sendrecv(void) {
  MPI_Sendrecv(a, 4, MPI_INT, 1 - rank, 0, wrong ? a + 2 : a + 4, 4, MPI_INT, 1 - rank, 0, kWorld, MPI_STATUS_IGNORE);
}
static void store_into_ibcast(void) {
  MPI_Ibcast(a, 4, MPI_INT, 0, kWorld, &request);
  if (rank == 0 && wrong) a[1] = 9;
  wait_for(&request);
}
static void store_into_started(void) {
  if (rank == 0) MPI_Send_init(a, 4, MPI_INT, 1, 0, kWorld, &request);
  if (rank == 0) MPI_Start(&request);
  if (rank == 0 && wrong) a[2] = 9;
  if (rank == 1) receive(b, 4, 0, 0);
  if (rank == 0) wait_for(&request);
  if (rank == 0) MPI_Request_free(&request);
}

/* --- windows; windows.c has the races --- */
static MPI_Win win;
static void put_at(int at) { MPI_Put(a, 1, MPI_INT, 1, at, 1, MPI_INT, win); }
static void with_window(void (*use)(void)) {
  static int* memory;
  MPI_Win_allocate(sizeof a, sizeof(int), MPI_INFO_NULL, kWorld, &memory, &win);
  use();
  MPI_Win_free(&win);
}
static void use_put_outside(void) {
  if (!wrong) MPI_Win_fence(0, win);
  if (rank == 0) put_at(0);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}
static void use_put_twice(void) {
  MPI_Win_fence(0, win);
  if (rank == 0) put_at(0);
  if (rank == 0) put_at(wrong ? 0 : 1);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}
static void use_put_and_get(void) {
  MPI_Win_fence(0, win);
  if (rank == 0) put_at(0);
  if (rank == 0) MPI_Get(b, 1, MPI_INT, 1, wrong ? 0 : 1, 1, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}
static void use_unlock(void) {
  if (rank == 0 && !wrong) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  if (rank == 0) MPI_Win_unlock(1, win);
}
static void use_two_origins(void) {
  MPI_Win_fence(0, win);
  if (rank != 1) put_at(wrong ? 0 : rank);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}
static void put_outside(void) { with_window(use_put_outside); }
static void put_twice(void) { with_window(use_put_twice); }
static void put_and_get(void) { with_window(use_put_and_get); }
static void unlock(void) { with_window(use_unlock); }
static void two_origins(void) {
  a[0] = rank;
  with_window(use_two_origins);
}

/* --- lost messages --- */
static void lost(void) {
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 3, kWorld);
  if (rank == 1 && !wrong) receive(b, 1, 0, 3);
}
static void lost_buffered(void) {
  static char room[1024];
  void* detached;
  int bytes;
  MPI_Buffer_attach(room, sizeof room);
  if (rank == 0) MPI_Bsend(a, 1, MPI_INT, 1, 3, kWorld);
  if (rank == 1 && !wrong) receive(b, 1, 0, 3);
  MPI_Buffer_detach(&detached, &bytes);
}
static void lost_empty(void) {
  if (rank == 0) MPI_Send(a, 0, MPI_INT, 1, 3, kWorld);
  if (rank == 1 && !wrong) receive(b, 0, 0, 3);
}
static void lost_to_self(void) {
  MPI_Isend(a, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
  if (!wrong) MPI_Recv(b, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  wait_for(&request);
}
static void lost_on_freed(void) {
  MPI_Comm made;
  MPI_Comm_dup(kWorld, &made);
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 3, made);
  if (rank == 1 && !wrong) MPI_Recv(b, 1, MPI_INT, 0, 3, made, MPI_STATUS_IGNORE);
  MPI_Barrier(made);
  MPI_Comm_free(&made);
}
static void freed_receive(void) {
  if (rank == 1) MPI_Irecv(b, 1, MPI_INT, 0, 3, kWorld, &request);
  if (rank == 1) MPI_Request_free(&request);
  if (rank == 0 && !wrong) MPI_Send(a, 1, MPI_INT, 1, 3, kWorld);
}
static void freed_long_receive(void) {
  if (rank == 1) MPI_Irecv(large, 1 << 18, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, &request);
  if (rank == 1) MPI_Request_free(&request);
  if (rank == 0 && !wrong) MPI_Send(other_large, 1 << 18, MPI_INT, 1, 3, kWorld);
}
static void freed_cancelled(void) {
  if (rank == 1) return;
  for (int i = 0; i < 2; ++i) {
    MPI_Irecv(b, 1, MPI_INT, 1, 3, kWorld, &request);
    if (!wrong) MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}
static void freed_persistent(void) {
  if (rank == 0 && !wrong) MPI_Send(a, 1, MPI_INT, 1, 3, kWorld);
  if (rank == 0) return;
  MPI_Recv_init(b, 1, MPI_INT, 0, 3, kWorld, &request);
  MPI_Start(&request);
  MPI_Request_free(&request);
}

/* --- threads; the level is MPI_THREAD_FUNNELED if the program is wrong, else MPI_THREAD_SERIALIZED --- */
static void* send_to_self(void* unused) {
  MPI_Sendrecv(a, 1, MPI_INT, 0, 0, b, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return unused;
}
static void thread(void) {
  pthread_t made;
  pthread_create(&made, NULL, send_to_self, NULL);
  pthread_join(made, NULL);
}

/* --- deadlocks --- */
static void both_receive(void) {
  if (wrong || rank == 1) receive(b, 1, 1 - rank, 0);
  MPI_Send(a, 1, MPI_INT, 1 - rank, 0, kWorld);
  if (!wrong && rank == 0) receive(b, 1, 1, 0);
}
static void both_send(void) {
  if (wrong || rank == 0) MPI_Ssend(a, 1, MPI_INT, 1 - rank, 0, kWorld);
  receive(b, 1, 1 - rank, 0);
  if (wrong || rank == 1) MPI_Ssend(a, 1, MPI_INT, 1 - rank, 0, kWorld);
}
static void wrong_tag(void) {
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, kWorld);
  if (rank == 1) receive(b, 1, 0, wrong ? 2 : 1);
}
static void ring(void) {
  if (wrong || rank == 0) MPI_Ssend(a, 1, MPI_INT, (rank + 1) % size, 0, kWorld);
  receive(b, 1, (rank + size - 1) % size, 0);
  if (!wrong && rank != 0) MPI_Ssend(a, 1, MPI_INT, (rank + 1) % size, 0, kWorld);
}
static void receive_behind_barrier(void) {
  if (rank == 0 && !wrong) MPI_Send(a, 1, MPI_INT, 1, 0, kWorld);
  if (rank == 1) receive(b, 1, 0, 0);
  MPI_Barrier(kWorld);
  if (rank == 0 && wrong) MPI_Send(a, 1, MPI_INT, 1, 0, kWorld);
}
static void wait_behind_ssend(void) {
  if (rank == 0) MPI_Irecv(b, 1, MPI_INT, 1, 1, kWorld, &request);
  if (rank == 0 && wrong) wait_for(&request);
  if (rank == 0) MPI_Ssend(a, 1, MPI_INT, 1, 0, kWorld);
  if (rank == 1) receive(b, 1, 0, 0);
  if (rank == 1) MPI_Send(a, 1, MPI_INT, 0, 1, kWorld);
  if (rank == 0 && !wrong) wait_for(&request);
}

/* --- arguments, which are checked even without the checker --- */
static void no_such_rank(void) {
  if (rank == 0) MPI_Send(a, 1, MPI_INT, wrong ? size : 1, 0, kWorld);
  if (rank == 1) receive(b, 1, 0, 0);
}
static void negative_count(void) { MPI_Bcast(b, wrong ? -1 : 1, MPI_INT, 0, kWorld); }
static void not_committed(void) {
  MPI_Datatype made;
  MPI_Type_contiguous(2, MPI_INT, &made);
  if (!wrong) MPI_Type_commit(&made);
  MPI_Bcast(b, 1, made, 0, kWorld);
  MPI_Type_free(&made);
}
static void freed_comm(void) {
  MPI_Comm made;
  MPI_Comm_dup(kWorld, &made);
  MPI_Comm stale = made;
  if (wrong) MPI_Comm_free(&made);
  MPI_Barrier(stale);
  if (!wrong) MPI_Comm_free(&made);
}
/* A communicator whose members assert that they do not use a wildcard. */
static MPI_Comm asserting(const char* hint) {
  MPI_Comm made;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, hint, "true");
  MPI_Comm_dup_with_info(kWorld, info, &made);
  MPI_Info_free(&info);
  return made;
}
static void any_tag_asserted(void) {
  MPI_Comm made = asserting("mpi_assert_no_any_tag");
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 3, made);
  if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, wrong ? MPI_ANY_TAG : 3, made, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
}
static void any_tag_of_sendrecv(void) {
  MPI_Comm made = asserting("mpi_assert_no_any_tag");
  MPI_Sendrecv(a, 1, MPI_INT, 1 - rank, 3, b, 1, MPI_INT, 1 - rank, wrong ? MPI_ANY_TAG : 3, made, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
}
static void any_source_asserted(void) {
  MPI_Comm made = asserting("mpi_assert_no_any_source");
  if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 3, made);
  if (rank == 1) MPI_Probe(wrong ? MPI_ANY_SOURCE : 0, MPI_ANY_TAG, made, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 3, made, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
}
static void too_long(void) {
  if (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 0, kWorld);
  if (rank == 1) receive(b, wrong ? 3 : 4, 0, 0);
}
static void started_twice(void) {
  MPI_Recv_init(b, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Start(&request);
  if (wrong) MPI_Start(&request);
  MPI_Send(a, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  wait_for(&request);
  MPI_Request_free(&request);
}

struct Pair {
  const char* name;
  void (*run)(void);
  int ranks;
  const char* diagnostic;
};
#define PAIR(name, ranks, diagnostic) {#name, name, ranks, diagnostic}
static const struct Pair kPairs[] = {
    PAIR(leak_comm, 2, "leak: 1 MPI_Comm of MPI_Comm_split"),
    PAIR(leak_type, 1, "leak: 1 MPI_Datatype of MPI_Type_vector"),
    PAIR(leak_group, 1, "leak: 1 MPI_Group of MPI_Comm_group"),
    PAIR(leak_info, 1, "leak: 1 MPI_Info of MPI_Info_create"),
    PAIR(leak_window, 2, "leak: 1 MPI_Win of MPI_Win_create"),
    PAIR(leak_file, 2, "leak: 1 MPI_File of MPI_File_open"),
    PAIR(leak_operation, 1, "leak: 1 MPI_Op of MPI_Op_create"),
    PAIR(leak_handler, 1, "leak: 1 MPI_Errhandler of MPI_Comm_create_errhandler"),
    PAIR(leak_request, 1, "leak: 1 MPI_Request of MPI_Recv_init"),
    PAIR(leak_message, 2, "leak: 1 MPI_Message of MPI_Mprobe"),
    PAIR(type_of_send, 2, "MPI_ERR_TYPE: signature: .* holds 4 x MPI_INT .* expects 4 x MPI_FLOAT"),
    PAIR(type_of_isend, 2, "MPI_ERR_TYPE: signature: .* expects 4 x MPI_FLOAT"),
    PAIR(type_of_persistent, 2, "MPI_ERR_TYPE: signature: .* expects 4 x MPI_FLOAT"),
    PAIR(type_of_long_message, 2, "MPI_ERR_TYPE: signature: .* expects 262144 x MPI_FLOAT"),
    PAIR(type_of_sendrecv, 2, "MPI_ERR_TYPE: signature: .* expects 4 x MPI_FLOAT"),
    PAIR(type_of_matched_probe, 2, "MPI_ERR_TYPE: signature: .* expects 4 x MPI_FLOAT"),
    PAIR(type_of_struct, 2, "MPI_ERR_TYPE: signature: .* holds 2 x MPI_INT"),
    PAIR(bytes_of_integers, 2, "MPI_ERR_TYPE: signature: .* holds 16 x MPI_BYTE .* expects 4 x MPI_INT"),
    PAIR(order, 2, "collective: members of the communicator call different functions"),
    PAIR(root, 2, "MPI_ERR_ROOT: collective: .*different roots"),
    PAIR(operation, 2, "MPI_ERR_OP: collective: .*different operations"),
    PAIR(count_of_allreduce, 2, "MPI_ERR_\\w+: collective: .*3 x MPI_INT in rank 1"),
    PAIR(type_of_reduce, 2, "MPI_ERR_TYPE: collective: .*2 x MPI_FLOAT in rank 1"),
    PAIR(type_of_bcast, 2, "MPI_ERR_TYPE: collective: .*2 x MPI_FLOAT in rank 1"),
    PAIR(count_of_gather, 2, "MPI_ERR_TYPE: (collective|signature): .*2 x MPI_INT"),
    PAIR(type_of_alltoall, 2, "MPI_ERR_TYPE: (collective|signature): .*MPI_FLOAT"),
    PAIR(counts_of_scatterv, 3, "MPI_ERR_TYPE: signature: "),
    PAIR(creation_of_comm, 2, "collective: .*different functions: .*MPI_Comm_split"),
    PAIR(creation_of_window, 2, "collective: .*different functions: .*MPI_Win_create"),
    PAIR(nonblocking_type, 2, "collective: .*different signatures: .*2 x MPI_FLOAT"),
    PAIR(nonblocking_root, 2, "collective: .*different roots"),
    PAIR(store_into_send, 2, "MPI_ERR_BUFFER: buffer: .*MPI_Isend at .* was changed before"),
    PAIR(send_of_receive_buffer, 2, "MPI_Send: MPI_ERR_BUFFER: buffer: .*receive buffer of MPI_Irecv"),
    PAIR(two_receives, 2, "MPI_Irecv: MPI_ERR_BUFFER: buffer: .*receive buffer of MPI_Irecv"),
    PAIR(buffers_of_sendrecv, 2, "MPI_Sendrecv: MPI_ERR_BUFFER: buffer: .*of this call overlap"),
    PAIR(store_into_ibcast, 2, "MPI_ERR_BUFFER: buffer: .*MPI_Ibcast at .* was changed"),
    PAIR(store_into_started, 2, "MPI_ERR_BUFFER: buffer: .*MPI_Send_init at .* was changed"),
    PAIR(put_outside, 2, "MPI_Put: MPI_ERR_RMA_SYNC"),
    PAIR(put_twice, 2, "MPI_Put: MPI_ERR_RMA_CONFLICT: epoch: "),
    PAIR(put_and_get, 2, "MPI_Get: MPI_ERR_RMA_CONFLICT: epoch: "),
    PAIR(unlock, 2, "MPI_Win_unlock: MPI_ERR_RMA_SYNC"),
    PAIR(two_origins, 3, "MPI_ERR_RMA_CONFLICT: epoch: .*rank 0 writes them .*rank 2 writes them"),
    PAIR(lost, 2, "message: 1 message of rank 0 with tag 3 .*MPI_Send at .* never received"),
    PAIR(lost_buffered, 2, "message: 1 message of rank 0 with tag 3 .*MPI_Bsend at .* never received"),
    PAIR(lost_empty, 2, "message: 1 message of rank 0 with tag 3 .*0 x MPI_INT.* never received"),
    PAIR(lost_to_self, 1, "message: 1 message of rank 0 with tag 3 of MPI_COMM_SELF .* never received"),
    PAIR(lost_on_freed, 2,
         "message: 1 message of rank 0 with tag 3 of a communicator that was freed .* never received"),
    PAIR(freed_receive, 2, "message: 1 freed receive from rank 0 with tag 3 of MPI_COMM_WORLD .*MPI_Irecv at "),
    PAIR(freed_long_receive, 2, "message: 1 freed receive from any source with any tag of MPI_COMM_WORLD "),
    PAIR(freed_cancelled, 2, "message: 2 freed receives from rank 1 with tag 3 of MPI_COMM_WORLD "),
    PAIR(freed_persistent, 2, "message: 1 freed receive from rank 0 with tag 3 of MPI_COMM_WORLD "),
    PAIR(thread, 1, "MPI_ERR_OTHER: thread: .*MPI_THREAD_FUNNELED"),
    PAIR(both_receive, 2, "deadlock: rank 0 waits in MPI_Recv from rank 1 .*rank 1 waits in MPI_Recv from rank 0"),
    PAIR(both_send, 2, "deadlock: rank 0 waits in MPI_Ssend to rank 1 .*rank 1 waits in MPI_Ssend to rank 0"),
    PAIR(wrong_tag, 2, "deadlock: .*rank 1 waits in MPI_Recv from rank 0 with tag 2"),
    PAIR(ring, 3, "deadlock: rank 0 waits in MPI_Ssend to rank 1 .*rank 2 waits in MPI_Ssend to rank 0"),
    PAIR(receive_behind_barrier, 2, "deadlock: .*rank 1 waits in MPI_Recv from rank 0"),
    PAIR(wait_behind_ssend, 2, "deadlock: rank 0 waits in MPI_Wait for a message from rank 1"),
    PAIR(no_such_rank, 2, "MPI_Send: MPI_ERR_RANK: dest is 2"),
    PAIR(negative_count, 2, "MPI_Bcast: MPI_ERR_COUNT: count is -1"),
    PAIR(not_committed, 2, "MPI_Bcast: MPI_ERR_TYPE: .*not committed"),
    PAIR(freed_comm, 2, "MPI_Barrier: MPI_ERR_COMM: .*not a live MPI_Comm"),
    PAIR(any_tag_asserted, 2, "MPI_Recv: MPI_ERR_TAG: assertion: the tag is MPI_ANY_TAG"),
    PAIR(any_tag_of_sendrecv, 2, "MPI_Sendrecv: MPI_ERR_TAG: assertion: the tag is MPI_ANY_TAG"),
    PAIR(any_source_asserted, 2, "MPI_Probe: MPI_ERR_RANK: assertion: the source is MPI_ANY_SOURCE"),
    PAIR(too_long, 2, "MPI_Recv: MPI_ERR_(TRUNCATE|TYPE)"),
    PAIR(started_twice, 1, "MPI_Start: MPI_ERR_REQUEST"),
};
enum { kCount = sizeof kPairs / sizeof kPairs[0] };

int main(int argc, char** argv) {
  for (int i = 0; i < kCount && argc == 2; ++i)
    printf("%s\t%d\t%s\n", kPairs[i].name, kPairs[i].ranks, kPairs[i].diagnostic);
  if (argc < 3) return argc < 2;
  wrong = strcmp(argv[2], "wrong") == 0;
  int provided;
  MPI_Init_thread(&argc, &argv, wrong ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(kWorld, &rank);
  MPI_Comm_size(kWorld, &size);
  for (int i = 0; i < kCount; ++i) {
    if (strcmp(argv[1], kPairs[i].name) == 0) kPairs[i].run();
  }
  MPI_Finalize();
  return 0;
}

// A program that prints without flushing, and then ends in the given way; its output must arrive. The ways:
//   abort       MPI_Abort on rank 1
//   error       an error with the handler MPI_ERRORS_ARE_FATAL
//   early       a call before MPI_Init
//   locked      MPI_Abort while another thread holds the lock of standard output and waits forever
//   reading     the same while another thread reads standard input
//   cpp         MPI_Abort; std::cout is not synchronised with C
//   statuses    MPI_Waitall with two messages that are too long; the program's handler, then the fatal one
//   work        no end: messages, and many requests at once
//   MPI_Scan    no end: this collective (or another one) is the first call that communicates
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

namespace {

int handled = MPI_SUCCESS;

void on_error(MPI_Comm*, int* code, ...) { MPI_Error_class(*code, &handled); }

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "last_words: %s\n", what);
  std::exit(99);
}

void* keep_output_locked(void*) {
  ::flockfile(stdout);
  for (;;) ::pause();
}

void* read_input(void*) {
  for (;;) static_cast<void>(std::getchar());
}

// Returns once the other thread is in its final state: it has the lock.
void start(void* (*run)(void*), FILE* stream) {
  pthread_t thread;
  check(::pthread_create(&thread, nullptr, run, nullptr) == 0, "no thread");
  while (::ftrylockfile(stream) == 0) ::funlockfile(stream);
}

// Each rank sends itself two messages that are longer than their receive buffers (MPI_ERR_TRUNCATE).
void too_long() {
  int data[4] = {};
  int room[2] = {};
  MPI_Request requests[4];
  MPI_Status statuses[4];
  for (int at = 0; at < 2; ++at) {
    MPI_Irecv(&room[at], 1, MPI_INT, 0, at, MPI_COMM_SELF, &requests[at]);
    MPI_Isend(data, 2 + at, MPI_INT, 0, at, MPI_COMM_SELF, &requests[2 + at]);
  }
  const int code = MPI_Waitall(4, requests, statuses);
  check(code == MPI_ERR_IN_STATUS, "MPI_Waitall's code is not MPI_ERR_IN_STATUS");
}

void work(int rank, int size) {
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size * (size - 1) / 2, "wrong sum");
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  const std::vector<int> sent(1 << 18, rank);
  std::vector<int> received(1 << 18, -1);
  MPI_Sendrecv(sent.data(), 1 << 18, MPI_INT, next, 0, received.data(), 1 << 18, MPI_INT, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  check(received == std::vector<int>(1 << 18, before), "wrong data");
  constexpr int kMany = 20000;
  std::vector<MPI_Request> requests(kMany);
  std::vector<int> small(kMany, -1);
  for (int at = 0; at < kMany; ++at) MPI_Irecv(&small[at], 1, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[at]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int at = 0; at < kMany; ++at) MPI_Send(&at, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
  MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE);
  for (int at = 0; at < kMany; ++at) check(small[at] == at, "wrong order");
}

// Returns false if the name is not that of a collective.
bool collective(std::string_view name, int size) {
  std::vector<int> send(size), recv(size), counts(size, 1), at(size);
  for (int rank = 0; rank < size; ++rank) at[rank] = rank;
  const MPI_Comm comm = MPI_COMM_WORLD;
  int* const s = send.data();
  int* const r = recv.data();
  const int* const c = counts.data();
  const int* const d = at.data();
  if (name == "MPI_Barrier") return MPI_Barrier(comm), true;
  if (name == "MPI_Bcast") return MPI_Bcast(r, 1, MPI_INT, 0, comm), true;
  if (name == "MPI_Gather") return MPI_Gather(s, 1, MPI_INT, r, 1, MPI_INT, 0, comm), true;
  if (name == "MPI_Gatherv") return MPI_Gatherv(s, 1, MPI_INT, r, c, d, MPI_INT, 0, comm), true;
  if (name == "MPI_Scatter") return MPI_Scatter(s, 1, MPI_INT, r, 1, MPI_INT, 0, comm), true;
  if (name == "MPI_Scatterv") return MPI_Scatterv(s, c, d, MPI_INT, r, 1, MPI_INT, 0, comm), true;
  if (name == "MPI_Allgather") return MPI_Allgather(s, 1, MPI_INT, r, 1, MPI_INT, comm), true;
  if (name == "MPI_Allgatherv") return MPI_Allgatherv(s, 1, MPI_INT, r, c, d, MPI_INT, comm), true;
  if (name == "MPI_Alltoall") return MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, comm), true;
  if (name == "MPI_Alltoallv") return MPI_Alltoallv(s, c, d, MPI_INT, r, c, d, MPI_INT, comm), true;
  if (name == "MPI_Reduce") return MPI_Reduce(s, r, 1, MPI_INT, MPI_SUM, 0, comm), true;
  if (name == "MPI_Allreduce") return MPI_Allreduce(s, r, 1, MPI_INT, MPI_SUM, comm), true;
  if (name == "MPI_Scan") return MPI_Scan(s, r, 1, MPI_INT, MPI_SUM, comm), true;
  if (name == "MPI_Exscan") return MPI_Exscan(s, r, 1, MPI_INT, MPI_SUM, comm), true;
  if (name == "MPI_Reduce_scatter") return MPI_Reduce_scatter(s, r, c, MPI_INT, MPI_SUM, comm), true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  if (way == "early") {
    std::printf("said before");
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  int level = 0;
  MPI_Init_thread(&argc, &argv, way == "locked" || way == "reading" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  int rank = -1;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (way == "work") {
    work(rank, size);
    std::printf("ok %d/%d\n", rank, size);
    return MPI_Finalize();
  }
  if (collective(way, size)) return MPI_Finalize();
  if (rank != size - 1) {
    MPI_Barrier(MPI_COMM_WORLD);  // the last rank never enters the barrier
    return 0;
  }
  if (way == "cpp") {
    std::ios_base::sync_with_stdio(false);
    std::cout << "said before";
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  std::printf("said before");
  if (way == "locked") start(keep_output_locked, stdout);
  if (way == "reading") start(read_input, stdin);
  if (way == "error") MPI_Send(&rank, 1, MPI_INT, size + 7, 0, MPI_COMM_WORLD);
  if (way == "statuses") {
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(on_error, &own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    too_long();
    check(handled == MPI_ERR_TRUNCATE, "the handler was not told the request's error");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    too_long();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    too_long();
  }
  MPI_Abort(MPI_COMM_WORLD, 3);
}

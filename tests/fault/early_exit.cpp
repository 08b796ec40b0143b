// A program in which some ranks leave without MPI_Finalize, each in the given way: "exit" with code 0, "fail" with
// another code, "kill" by a signal, right after MPI_Init; "late" after a collective; "wait" for a message to itself,
// which is never sent; "linger" forever in an exit handler, after MPI_Finalize; "deaf" sleeps there and blocks all
// signals. The others continue, and finish unless stopped. Usage: early_exit WAY RANK...
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

extern "C" [[gnu::noinline]] void runs_for_ever() {
  for (std::atomic<unsigned> turns = 0;;) ++turns;
}
extern "C" [[gnu::noinline]] void sleeps_deaf() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  for (;;) ::pause();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string_view way = argv[1];
  bool leaves = false;
  for (int i = 2; i < argc; ++i) leaves |= std::atoi(argv[i]) == rank;
  if (way == "late") {
    for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
    if (leaves) ::_exit(1);
  }
  if (leaves && way == "wait") MPI_Recv(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (leaves && way == "exit") std::exit(0);
  if (leaves && way == "fail") ::_exit(1);
  if (leaves && way == "kill") ::raise(SIGKILL);
  if (leaves && way == "linger") std::atexit(runs_for_ever);
  if (leaves && way == "deaf") std::atexit(sleeps_deaf);
  MPI_Finalize();
}

// One rank that does not run for a while: what the others lose. A rank that shares its core with the kernel or another
// program stops like this, for a time slice. Each stop may delay the round in which it happens, not the rounds after
// it, and the others do not spend the time on polling.
//
//   mpi_stopped_rank [--report]   --report: measures stops of 4 ms, too, which are too short to check on a busy machine
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kStops = 5;

// Usage of this process: seconds of CPU, and the number of sleeps.
struct Used {
  double cpu = 0;
  long sleeps = 0;
};

Used used_so_far() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_nvcsw};
}

// Starts a process that stops this one kStops times.
pid_t stop_repeatedly(int milliseconds) {
  const pid_t rank = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (int stop = 0; stop < kStops; ++stop) {
    ::usleep(20000);
    if (::kill(rank, SIGSTOP) != 0) break;
    ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
    ::kill(rank, SIGCONT);
  }
  ::_exit(0);
}

// Totals of the rounds that took at least half as long as a stop.
struct Slow {
  int rounds = 0;
  double seconds = 0, cpu = 0;
  long sleeps = 0;
};

using Round = void (*)(const check::Environment&);

void barrier(const check::Environment&) { CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); }

void allreduce(const check::Environment& mpi) {
  int sum = -1;
  CHECK_OK(MPI_Allreduce(&mpi.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, mpi.size * (mpi.size - 1) / 2);
}

void ring(const check::Environment& mpi) {
  const int to = (mpi.rank + 1) % mpi.size, from = (mpi.rank + mpi.size - 1) % mpi.size;
  int got = -1;
  CHECK_OK(MPI_Sendrecv(&mpi.rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(got, from);
}

// Runs rounds until the last rank has been stopped kStops times.
Slow rounds_with_stops(const check::Environment& mpi, Round round, int milliseconds) {
  const int stopped = mpi.size - 1;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  pid_t child = mpi.rank == stopped ? stop_repeatedly(milliseconds) : 0;
  CHECK(child >= 0);
  Slow slow;
  for (int done = 0; done == 0;) {
    for (int i = 0; i < 50; ++i) {
      const double began = MPI_Wtime();
      const Used before = used_so_far();
      round(mpi);
      const double took = MPI_Wtime() - began;
      if (took < 0.5e-3 * milliseconds) continue;
      ++slow.rounds;
      slow.seconds += took;
      const Used after = used_so_far();
      slow.cpu += after.cpu - before.cpu;
      slow.sleeps += after.sleeps - before.sleeps;
    }
    if (mpi.rank == stopped) done = ::waitpid(child, nullptr, WNOHANG) == child ? 1 : 0;
    CHECK_OK(MPI_Bcast(&done, 1, MPI_INT, stopped, MPI_COMM_WORLD));
  }
  return slow;
}

void measure(const check::Environment& mpi, const char* name, Round round, int milliseconds, bool checked) {
  const Slow slow = rounds_with_stops(mpi, round, milliseconds);
  if (mpi.rank == 0)
    std::printf("%s: %d stops of %d ms: %d slow rounds of %.1f ms in all, %.1f ms of them polled, %ld sleeps\n", name,
                kStops, milliseconds, slow.rounds, 1e3 * slow.seconds, 1e3 * slow.cpu, slow.sleeps);
  if (!checked || mpi.rank == mpi.size - 1) return;
  // A stop may begin in one round and end in the next; other programs may cause some slow rounds more.
  CHECK(slow.rounds >= 1);
  CHECK(slow.rounds <= 3 * kStops);
  CHECK(slow.cpu <= 0.5 * slow.seconds);
  CHECK(slow.sleeps >= slow.rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  const bool report = argc > 1 && std::strcmp(argv[1], "--report") == 0;
  const struct {
    const char* name;
    Round round;
  } all[] = {{"barrier", barrier}, {"allreduce", allreduce}, {"ring", ring}};
  for (const auto& each : all) {
    for (int i = 0; i < 10; ++i) each.round(mpi);  // collectives use shared memory from the fourth one on
    if (report) measure(mpi, each.name, each.round, 4, false);
    measure(mpi, each.name, each.round, 300, true);
  }
  return 0;
}

// Every rank sends values to rank 0, which computes for argv[1] seconds before it makes a call of MPI. With argv[2], a
// rank that waits meanwhile must use its core for less than that fraction of the time.
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kValues = 2000;

int value_of(int from, int at) { return from * 10'007 + at * 3 + 1; }

double seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A computation that takes no core from the others.
void compute(double length) {
  const double until = seconds(CLOCK_MONOTONIC) + length;
  while (seconds(CLOCK_MONOTONIC) < until) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  const double length = std::atof(argv[1]);
  const int rank = check::world_rank(), size = check::world_size();
  std::vector<int> values(kValues, -1);
  if (rank == 0) {
    compute(length);
    for (int from = 1; from < size; ++from) {
      CHECK_OK(MPI_Recv(values.data(), kValues, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      for (int at = 0; at < kValues; ++at) CHECK_EQ(values[static_cast<std::size_t>(at)], value_of(from, at));
    }
  } else {
    for (int at = 0; at < kValues; ++at) values[static_cast<std::size_t>(at)] = value_of(rank, at);
    const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    CHECK_OK(MPI_Ssend(values.data(), kValues, MPI_INT, 0, 5, MPI_COMM_WORLD));
    const double waited = seconds(CLOCK_MONOTONIC) - begin;
    if (argc > 2) CHECK(seconds(CLOCK_PROCESS_CPUTIME_ID) - used < std::atof(argv[2]) * waited);
  }
  return MPI_Finalize();
}

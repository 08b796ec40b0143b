// Many ranks wait on the core of a computing rank. Each polls from time to time, and less often the more ranks share a
// core: otherwise the polls of hundreds of ranks would use the whole core.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "common/check.hpp"
#include "common/statistic.hpp"

namespace {

// Values of the library: the seconds between two polls in a wait, and the maximum factor by which this time grows with
// many ranks.
constexpr double kBetweenLooks = 10e-3;
constexpr double kMostPatience = 10;
constexpr double kComputes = 0.6;

}  // namespace

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  {
    const check::Statistic slept("HEADRACE_WAITS_SLEPT");
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const double begun = MPI_Wtime();
    int message = rank == 0 ? 17 : 0;
    if (rank == 0) {
      while (MPI_Wtime() - begun < kComputes) {
      }
      for (int to = 1; to < size; ++to) CHECK_OK(MPI_Send(&message, 1, MPI_INT, to, 5, MPI_COMM_WORLD));
    } else {
      const auto before = slept.value();
      CHECK_OK(MPI_Recv(&message, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const auto times = static_cast<double>(slept.value() - before);
      const double patience =
          std::clamp(size / static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)), 1.0, kMostPatience);
      const double most = 8 + 1.5 * (MPI_Wtime() - begun) / (kBetweenLooks * patience);
      if (times > most)
        check::fail(__FILE__, __LINE__,
                    "slept " + std::to_string(times) + " times, at most " + std::to_string(most) + " expected");
    }
    CHECK_EQ(message, 17);
  }
  CHECK_OK(MPI_Finalize());
  return 0;
}

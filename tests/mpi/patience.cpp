// Many ranks wait on the core of a computing rank. Each polls from time to time, and less often the more ranks share a
// core: otherwise the polls of hundreds of ranks would use the whole core.
//
//   mpi_patience [confined | overlapping]
//
// confined: all ranks may use one core only, although the library sees a machine with 64.
// overlapping: three ranks may use two cores together, and no two of them the same ones.
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "common/cpus.hpp"
#include "common/statistic.hpp"

namespace {

// Values of the library: the seconds between two polls in a wait, and the maximum factor by which this time grows with
// many ranks.
constexpr double kBetweenLooks = 10e-3;
constexpr double kMostPatience = 10;
constexpr double kComputes = 0.6;
// A rank that has a core of its own polls many times as often before it yields; one that shares its core, a few hundred
// times before it sleeps, and again after a message.
constexpr double kMostLooksShared = 1200;
// The first calls of a collective operation do not use shared memory, and the ranks learn of each other's cores.
constexpr int kFirstCalls = 8;

bool many_processors = false;

void at_most(const char* what, double found, double most) {
  if (found <= most) return;
  check::fail(
      __FILE__, __LINE__,
      std::string(what) + " " + std::to_string(found) + " times, at most " + std::to_string(most) + " expected");
}

}  // namespace

// Replaces the system's, also for the library.
extern "C" [[gnu::visibility("default")]] long sysconf(
    int name) {  // NOLINT(readability-inconsistent-declaration-parameter-name)
  static const auto real = reinterpret_cast<long (*)(int)>(::dlsym(RTLD_NEXT, "sysconf"));
  return name == _SC_NPROCESSORS_ONLN && many_processors ? 64 : real(name);
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  many_processors = how == "confined";
  const std::vector<int> all = check::cpus_of_launcher();
  const bool overlapping = how == "overlapping" && all.size() >= 2;
  if (how == "confined") check::use_cpus({all[0]});
  if (overlapping) {
    const char* const rank_text = std::getenv("PMI_RANK");
    const int number = rank_text != nullptr ? std::atoi(rank_text) : 0;
    check::use_cpus(number == 0   ? std::vector{all[0]}
                    : number == 1 ? std::vector{all[1]}
                                  : std::vector{all[0], all[1]});
  }
  CHECK_OK(MPI_Init(&argc, &argv));
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (overlapping) CHECK_EQ(size, 3);
  {
    const check::Statistic slept("HEADRACE_WAITS_SLEPT"), spun("HEADRACE_WAITS_SPUN");
    for (int i = 0; i < kFirstCalls; ++i) CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const double begun = MPI_Wtime();
    int message = rank == 0 ? 17 : 0;
    if (rank == 0) {
      while (MPI_Wtime() - begun < kComputes) {
      }
      for (int to = 1; to < size; ++to) CHECK_OK(MPI_Send(&message, 1, MPI_INT, to, 5, MPI_COMM_WORLD));
    } else {
      const auto slept_before = slept.value(), spun_before = spun.value();
      CHECK_OK(MPI_Recv(&message, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const double cores = how == "confined" ? 1 : static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
      const double patience = std::clamp(size / cores, 1.0, kMostPatience);
      at_most("slept", static_cast<double>(slept.value() - slept_before),
              8 + 1.5 * (MPI_Wtime() - begun) / (kBetweenLooks * patience));
      if (overlapping) at_most("looked", static_cast<double>(spun.value() - spun_before), kMostLooksShared);
    }
    CHECK_EQ(message, 17);
  }
  CHECK_OK(MPI_Finalize());
  return 0;
}

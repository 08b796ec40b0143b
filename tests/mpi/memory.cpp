// Memory of a rank among many, after a message from each rank to each other one, and collectives of several lengths:
// its share of all mapped memory, and its share of the memory that is reserved for rings, flag lines and data slots.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "common/check.hpp"

namespace {

// Returns this process's share of the memory that it has mapped, in KiB.
long share_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;) {
    if (long kib = 0; word == "Pss:" && file >> kib) return kib;
  }
  return 0;
}

// Returns the memory of the job's files, in KiB: of those that this process has open and that have no name.
long reserved_kib() {
  long blocks = 0;
  std::set<ino_t> seen;
  DIR* const open = ::opendir("/proc/self/fd");
  CHECK(open != nullptr);
  while (const dirent* entry = ::readdir(open)) {
    struct stat state{};
    const int file = std::atoi(entry->d_name);
    if (::fstat(file, &state) != 0 || !S_ISREG(state.st_mode) || state.st_nlink != 0) continue;
    if (seen.insert(state.st_ino).second) blocks += state.st_blocks;
  }
  ::closedir(open);
  return blocks / 2;
}

long largest(long mine) {
  long most = 0;
  CHECK_OK(MPI_Allreduce(&mine, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
  return most;
}

void alltoall(const check::Environment& mpi) {
  const auto size = static_cast<std::size_t>(mpi.size);
  std::vector<int> mine(size), others(size, -1);
  for (std::size_t i = 0; i < size; ++i) mine[i] = mpi.rank * 1000 + static_cast<int>(i);
  CHECK_OK(MPI_Alltoall(mine.data(), 1, MPI_INT, others.data(), 1, MPI_INT, MPI_COMM_WORLD));
  for (std::size_t i = 0; i < size; ++i) CHECK_EQ(others[i], static_cast<int>(i) * 1000 + mpi.rank);
}

}  // namespace

//   mpi_memory MOST_KIB   fails if a rank has more
int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  CHECK(argc == 2);
  const long most = std::atol(argv[1]);
  for (int distance = 1; distance < mpi.size; ++distance) {
    const int to = (mpi.rank + distance) % mpi.size, from = (mpi.rank + mpi.size - distance) % mpi.size;
    int got = -1;
    CHECK_OK(MPI_Sendrecv(&mpi.rank, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(got, from);
  }
  for (int round = 0; round < 5; ++round) alltoall(mpi);
  std::vector<int> data(30000, mpi.rank);
  CHECK_OK(MPI_Bcast(data.data(), 30000, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(data == std::vector<int>(30000, 0));
  const long share = largest(share_kib());
  const long reserved = largest(reserved_kib()) / mpi.size;
  if (mpi.rank == 0)
    std::printf("%d ranks: %ld KiB mapped, %ld KiB of shared memory reserved per rank\n", mpi.size, share, reserved);
  CHECK(reserved > 0);
  CHECK(share > 0);
  CHECK(share <= most);
  CHECK(reserved <= most);
  return 0;
}

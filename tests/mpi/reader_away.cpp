// Many short messages to a process that makes no progress: no message is lost or duplicated, and all keep their order.
// The reader learns without MPI, from a file that both processes have mapped, that all sends have started.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kRounds = 4;
constexpr int kMessages = 3000;  // enough to fill several rings
constexpr int kTag = 5;

// Returns a number that both processes see, initially 0. Collective.
std::atomic<int>& shared_number(int rank) {
  char path[] = "/tmp/headrace-reader-away-XXXXXX";
  int file = rank == 0 ? ::mkstemp(path) : -1;
  if (rank == 0) CHECK(file >= 0 && ::ftruncate(file, sizeof(int)) == 0);
  CHECK_OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
  if (rank != 0) file = ::open(path, O_RDWR);
  CHECK(file >= 0);
  void* const memory = ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(memory != MAP_FAILED);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) ::unlink(path);
  ::close(file);
  return *static_cast<std::atomic<int>*>(memory);
}

template <class Value>
void send(int round, std::atomic<int>& sent) {
  std::vector<Value> values(kMessages);
  std::vector<MPI_Request> requests(kMessages);
  for (int m = 0; m < kMessages; ++m) {
    values[static_cast<std::size_t>(m)] = Value(m * 7 + round);
    const auto at = static_cast<std::size_t>(m);
    CHECK_OK(MPI_Isend(&values[at], sizeof(Value), MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &requests[at]));
  }
  sent.fetch_add(1);
  CHECK_OK(MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE));
}

template <class Value>
void receive(int round, int turn, std::atomic<int>& sent) {
  while (sent.load() < turn) ::sched_yield();
  for (int m = 0; m < kMessages; ++m) {
    Value value{};
    CHECK_OK(MPI_Recv(&value, sizeof value, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, Value(m * 7 + round));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  std::atomic<int>& sent = shared_number(mpi.rank);
  for (int round = 0; round < kRounds; ++round) {
    if (mpi.rank == 0) {
      send<int>(round, sent);
      send<long>(round, sent);
    } else {
      receive<int>(round, 2 * round + 1, sent);
      receive<long>(round, 2 * round + 2, sent);
    }
  }
  return 0;
}

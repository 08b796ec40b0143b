// Passive target: rank 0 makes no MPI call until the other ranks have finished their operations on its memory, which
// they report without MPI.
//
//   progress <allocate|create|dynamic|shared>
#include <cstdint>
#include <vector>

#include "common/flags.hpp"
#include "window_memory.hpp"

namespace {

constexpr int kLong = 100000;

void play(const check::Environment& mpi, check::Flags& flags, const std::string& kind, int round) {
  rma_test::WindowMemory memory(kind, (kLong + 2) * sizeof(std::int64_t), 8);
  auto* const own = static_cast<std::int64_t*>(memory.own());
  own[0] = own[1] = 0;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (mpi.rank == 0) {
    flags.await_others(round);
  } else {
    const std::int64_t one = 1;
    std::int64_t before = -1;
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, memory.window));
    for (int i = 0; i < 20; ++i) {
      CHECK_OK(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, memory.displacement(0, 0), MPI_SUM, memory.window));
      CHECK_OK(MPI_Win_flush(0, memory.window));
    }
    CHECK(before >= 19);
    CHECK_OK(MPI_Win_unlock(0, memory.window));
    std::vector<std::int64_t> data(kLong, 10 * round);
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, memory.window));
    CHECK_OK(
        MPI_Put(data.data(), kLong, MPI_INT64_T, 0, memory.displacement(0, 16), kLong, MPI_INT64_T, memory.window));
    CHECK_OK(MPI_Accumulate(data.data(), 1, MPI_INT64_T, 0, memory.displacement(0, 8), 1, MPI_INT64_T, MPI_SUM,
                            memory.window));
    CHECK_OK(MPI_Win_flush(0, memory.window));
    std::vector<std::int64_t> back(kLong, -1);
    CHECK_OK(
        MPI_Get(back.data(), kLong, MPI_INT64_T, 0, memory.displacement(0, 16), kLong, MPI_INT64_T, memory.window));
    CHECK_OK(MPI_Win_unlock(0, memory.window));
    CHECK(back == data);
    flags.set(round);
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (mpi.rank == 0) {
    CHECK_EQ(own[0], 20 * (mpi.size - 1));
    CHECK_EQ(own[1], 10 * round * (mpi.size - 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  check::Flags flags(mpi);
  for (int round = 1; round <= 3; ++round) play(mpi, flags, argc > 1 ? argv[1] : "allocate", round);
  return 0;
}

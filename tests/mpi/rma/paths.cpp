// Every path to a target's memory (src/rma/window.hpp) is actually used: the library counts operations through system
// calls, over the network and with messages; operations on its own and on mapped memory are in none of these counters.
// Rank 0 is the origin, the last rank the target.
//
//   paths <own|mapped|system|network|message> <create|allocate|dynamic>
#include <cstdint>
#include <string>
#include <vector>

#include "common/statistic.hpp"
#include "window_memory.hpp"

namespace {

using check::Statistic;
using rma_test::WindowMemory;

constexpr int kCount = 1000;

struct Amounts {
  unsigned long long system, network, message;
};

class Counters {
 public:
  [[nodiscard]] Amounts now() const { return {system_.value(), network_.value(), message_.value()}; }

 private:
  Statistic system_{"HEADRACE_RMA_BY_SYSTEM"};
  Statistic network_{"HEADRACE_RMA_BY_NETWORK"};
  Statistic message_{"HEADRACE_RMA_BY_MESSAGE"};
};

// Makes a call and checks which paths its operations used.
template <class Call>
void count(const Counters& counters, const Amounts& expected, const Call& call) {
  const Amounts before = counters.now();
  call();
  const Amounts after = counters.now();
  CHECK_EQ(after.system - before.system, expected.system);
  CHECK_EQ(after.network - before.network, expected.network);
  CHECK_EQ(after.message - before.message, expected.message);
}

void use(const WindowMemory& memory, int target, const std::string& path) {
  const Counters counters;
  const MPI_Win win = memory.window;
  const MPI_Aint at = memory.displacement(target, 0);
  std::vector<std::int64_t> data(kCount);
  for (int i = 0; i < kCount; ++i) data[static_cast<std::size_t>(i)] = i * 3 + 1;
  std::vector<std::int64_t> back(kCount);
  const bool in_place = path == "own" || path == "mapped";
  const Amounts moves = {path == "system" ? 1U : 0U, path == "network" ? 1U : 0U, path == "message" ? 1U : 0U};
  const Amounts asks = {0, 0, in_place ? 0U : 1U};
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
  count(counters, moves, [&] {
    CHECK_OK(MPI_Put(data.data(), kCount, MPI_INT64_T, target, at, kCount, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_flush(target, win));
  });
  count(counters, moves, [&] {
    CHECK_OK(MPI_Get(back.data(), kCount, MPI_INT64_T, target, at, kCount, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_flush(target, win));
  });
  CHECK(back == data);
  // An operation on a part in the middle, with another datatype.
  count(counters, moves, [&] {
    CHECK_OK(MPI_Get(back.data(), 8, MPI_BYTE, target, memory.displacement(target, 16), 8, MPI_BYTE, win));
    CHECK_OK(MPI_Win_flush(target, win));
  });
  CHECK_EQ(back[0], data[2]);
  // An operation on elements with gaps at the target.
  MPI_Datatype gaps;
  CHECK_OK(MPI_Type_vector(10, 1, 2, MPI_INT64_T, &gaps));
  CHECK_OK(MPI_Type_commit(&gaps));
  const Amounts strided = path == "network" ? asks : moves;
  count(counters, strided, [&] {
    CHECK_OK(MPI_Put(data.data() + 20, 10, MPI_INT64_T, target, at, 1, gaps, win));
    CHECK_OK(MPI_Win_flush(target, win));
  });
  count(counters, strided, [&] {
    CHECK_OK(MPI_Get(back.data(), 1, gaps, target, at, 1, gaps, win));
    CHECK_OK(MPI_Win_flush(target, win));
  });
  for (std::size_t i = 0; i < 10; ++i) CHECK_EQ(back[2 * i], data[20 + i]);
  CHECK_OK(MPI_Type_free(&gaps));
  count(counters, asks, [&] {
    const std::int64_t one = 1;
    CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_SUM, win));
    CHECK_OK(MPI_Win_flush(target, win));
  });
  std::int64_t first = 0;
  count(counters, asks, [&] {
    const std::int64_t one = 1;
    CHECK_OK(MPI_Fetch_and_op(&one, &first, MPI_INT64_T, target, at, MPI_SUM, win));
    CHECK_OK(MPI_Win_flush(target, win));
  });
  CHECK_EQ(first, data[20] + 1);
  CHECK_OK(MPI_Win_unlock(target, win));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  CHECK(argc == 3);
  int rank = 0;
  int size = 0;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  {
    const WindowMemory memory(argv[2], kCount * sizeof(std::int64_t), 8);
    if (rank == 0) use(memory, std::string(argv[1]) == "own" ? 0 : size - 1, argv[1]);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK_OK(MPI_Finalize());
  if (rank == 0) std::puts("ok");
  return 0;
}

// Rank 0 reads its own memory, by calls that complete at once, until the others have changed it: these calls must serve
// the others' operations, which arrive as messages (MPI 5.0 section 12.7.3).
//
//   polling <create|allocate|shared|dynamic> <fetch|get|rget|flush_all|lock|accumulate|collective|null|error>
#include <cstdint>
#include <string>

#include "window_memory.hpp"

namespace {

using rma_test::WindowMemory;

constexpr int kUpdates = 20;

class Poller {
 public:
  Poller(WindowMemory& memory, int rank, std::string how) : memory_(memory), rank_(rank), how_(std::move(how)) {
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, rank, &pair_));
    if (how_ != "lock") CHECK_OK(MPI_Win_lock_all(0, window()));
  }
  ~Poller() {
    if (how_ != "lock") CHECK_OK(MPI_Win_unlock_all(window()));
    CHECK_OK(MPI_Comm_free(&pair_));
  }
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // True for a rank that takes part in rank 0's collectives between two reads.
  [[nodiscard]] bool helps() const { return how_ == "collective" && rank_ == 1; }

  std::int64_t ask() {
    std::int64_t value = -1;
    const MPI_Aint at = memory_.displacement(rank_, 0);
    if (how_ == "lock") CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, window()));
    if (how_ == "rget") {
      MPI_Request request;
      CHECK_OK(MPI_Rget(&value, 1, MPI_INT64_T, rank_, at, 1, MPI_INT64_T, window(), &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (how_ == "accumulate") {
      const std::int64_t zero = 0;
      CHECK_OK(MPI_Accumulate(&zero, 1, MPI_INT64_T, rank_, at, 1, MPI_INT64_T, MPI_SUM, window()));
      CHECK_OK(MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, rank_, at, 1, MPI_INT64_T, MPI_NO_OP,
                                  window()));
    } else if (how_ == "get" || how_ == "lock" || how_ == "flush_all") {
      CHECK_OK(MPI_Get(&value, 1, MPI_INT64_T, rank_, at, 1, MPI_INT64_T, window()));
    } else if (how_ == "fetch") {
      CHECK_OK(MPI_Fetch_and_op(nullptr, &value, MPI_INT64_T, rank_, at, MPI_NO_OP, window()));
    } else {
      value = __atomic_load_n(static_cast<std::int64_t*>(memory_.own()), __ATOMIC_ACQUIRE);
    }
    if (how_ == "lock") {
      CHECK_OK(MPI_Win_unlock(rank_, window()));
    } else if (how_ == "flush_all") {
      CHECK_OK(MPI_Win_flush_all(window()));
    } else if (how_ == "get" || how_ == "fetch") {
      CHECK_OK(MPI_Win_flush(rank_, window()));
    } else if (how_ == "collective") {
      CHECK_OK(MPI_Bcast(&value, 1, MPI_INT64_T, 0, pair_));
    } else if (how_ == "null") {
      MPI_Request none = MPI_REQUEST_NULL;
      int flag = 0;
      CHECK_OK(MPI_Test(&none, &flag, MPI_STATUS_IGNORE));
    } else if (how_ == "error") {
      CHECK_CLASS(MPI_Send(&value, 1, MPI_INT64_T, 1 << 20, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    }
    return value;
  }

 private:
  [[nodiscard]] MPI_Win window() const { return memory_.window; }

  WindowMemory& memory_;
  int rank_;
  std::string how_;
  MPI_Comm pair_ = MPI_COMM_NULL;
};

void update(const WindowMemory& memory, const std::string& how) {
  const std::int64_t one = 1;
  for (int i = 0; i < kUpdates; ++i) {
    if (how == "lock") CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, memory.window));
    CHECK_OK(
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, memory.displacement(0, 0), 1, MPI_INT64_T, MPI_SUM, memory.window));
    CHECK_OK(how == "lock" ? MPI_Win_unlock(0, memory.window) : MPI_Win_flush(0, memory.window));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  const std::string how = argc > 2 ? argv[2] : "fetch";
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  WindowMemory memory(argc > 1 ? argv[1] : "create", sizeof(std::int64_t), 8);
  *static_cast<std::int64_t*>(memory.own()) = 0;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  const int others = how == "collective" ? mpi.size - 2 : mpi.size - 1;
  {
    Poller poller(memory, mpi.rank, how);
    if (mpi.rank == 0 || poller.helps()) {
      while (poller.ask() != static_cast<std::int64_t>(others) * kUpdates) {
      }
    } else {
      update(memory, how);
    }
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  return 0;
}

// Rank 0 reads its own memory, with calls that complete at once, until the others have changed it: these calls must
// serve the others' operations, which arrive as messages (MPI 5.0 section 12.7.3).
//
//   polling <create|allocate|shared|dynamic> <fetch|get|rget|flush_all|lock|accumulate|collective|null|error|at_once>
//           [threads]
//
// threads: under MPI_THREAD_MULTIPLE, with which these calls may take no lock.
// at_once: one round for each of the calls that wait for nothing, whatever their purpose.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "window_memory.hpp"

namespace {

using rma_test::WindowMemory;

constexpr int kUpdates = 20;

// Calls that wait for nothing: there is no peer, or the operation completes as soon as it starts.
class AtOnce {
 public:
  AtOnce() {
    CHECK_OK(MPI_Send_init(&out_, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &inactive_));
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file_));
  }
  ~AtOnce() {
    CHECK_OK(MPI_Request_free(&inactive_));
    CHECK_OK(MPI_File_close(&file_));
  }
  AtOnce(const AtOnce&) = delete;
  AtOnce& operator=(const AtOnce&) = delete;

  static int count() { return static_cast<int>(AtOnce().calls_.size()); }
  void call(int which) { calls_[static_cast<std::size_t>(which)](); }

 private:
  static constexpr int kNobody = MPI_PROC_NULL;

  int in_ = 0, out_ = 0, flag_ = 0, index_ = 0;
  MPI_Request inactive_ = MPI_REQUEST_NULL, request_ = MPI_REQUEST_NULL;
  MPI_Message message_ = MPI_MESSAGE_NULL;
  MPI_Comm copy_ = MPI_COMM_NULL;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Offset size_ = 0;
  char port_[MPI_MAX_PORT_NAME] = "";
  const MPI_Comm world_ = MPI_COMM_WORLD;
  const std::vector<std::function<void()>> calls_ = {
      [this] { CHECK_OK(MPI_Send(&out_, 1, MPI_INT, kNobody, 0, world_)); },
      [this] { CHECK_OK(MPI_Bsend(&out_, 1, MPI_INT, kNobody, 0, world_)); },
      [this] { CHECK_OK(MPI_Recv(&in_, 1, MPI_INT, kNobody, 0, world_, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_Probe(kNobody, 0, world_, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_Iprobe(kNobody, 0, world_, &flag_, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_Mprobe(kNobody, 0, world_, &message_, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_Improbe(kNobody, 0, world_, &flag_, &message_, MPI_STATUS_IGNORE)); },
      [this] {
        CHECK_OK(MPI_Sendrecv(&out_, 1, MPI_INT, kNobody, 0, &in_, 1, MPI_INT, kNobody, 0, world_, MPI_STATUS_IGNORE));
      },
      [this] {
        CHECK_OK(MPI_Irecv(&in_, 1, MPI_INT, kNobody, 0, world_, &request_));
        CHECK_OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));
      },
      [this] {
        CHECK_OK(MPI_Start(&inactive_));
        CHECK_OK(MPI_Wait(&inactive_, MPI_STATUS_IGNORE));
      },
      [this] { CHECK_OK(MPI_Wait(&inactive_, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_Wait(&request_, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_Waitall(1, &request_, MPI_STATUSES_IGNORE)); },
      [this] { CHECK_OK(MPI_Waitany(1, &request_, &index_, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_Waitsome(1, &request_, &index_, &flag_, MPI_STATUSES_IGNORE)); },
      [this] { CHECK_OK(MPI_Barrier(MPI_COMM_SELF)); },
      [this] {
        CHECK_OK(MPI_Ibarrier(MPI_COMM_SELF, &request_));
        CHECK_OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));
      },
      [this] {
        CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &copy_));
        CHECK_OK(MPI_Comm_free(&copy_));
      },
      [this] { CHECK_OK(MPI_File_write_at(file_, 0, &out_, 1, MPI_INT, MPI_STATUS_IGNORE)); },
      [this] { CHECK_OK(MPI_File_get_size(file_, &size_)); },
      [this] { CHECK_CLASS(MPI_Lookup_name("nobody has published this", MPI_INFO_NULL, port_), MPI_ERR_NAME); },
  };
};

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

  std::int64_t ask(int round) {
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
    } else if (how_ == "at_once") {
      at_once_.call(round);
    }
    return value;
  }

 private:
  [[nodiscard]] MPI_Win window() const { return memory_.window; }

  WindowMemory& memory_;
  int rank_;
  std::string how_;
  MPI_Comm pair_ = MPI_COMM_NULL;
  AtOnce at_once_;
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
  const check::Environment mpi(&argc, &argv, 2, argc > 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  const std::string how = argc > 2 ? argv[2] : "fetch";
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  WindowMemory memory(argc > 1 ? argv[1] : "create", sizeof(std::int64_t), 8);
  *static_cast<std::int64_t*>(memory.own()) = 0;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  const std::int64_t updates = (how == "collective" ? mpi.size - 2 : mpi.size - 1) * std::int64_t{kUpdates};
  {
    Poller poller(memory, mpi.rank, how);
    const int rounds = how == "at_once" ? AtOnce::count() : 1;
    for (int round = 0; round < rounds; ++round) {
      if (mpi.rank == 0 || poller.helps()) {
        while (poller.ask(round) != (round + 1) * updates) {
        }
      } else {
        update(memory, how);
      }
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  return 0;
}

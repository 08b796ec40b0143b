// A rank dies while others depend on it in a window (mpiexec --enable-recovery): every wait ends with an error that
// names the rank, the others continue, and the window can be freed.
//
//   process_failure <fence|start|wait|lock|flush|request>
#include <mpi-ext.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "common/check.hpp"

namespace {

struct Case {
  int rank, size, victim;
  MPI_Win win = MPI_WIN_NULL;
  std::vector<std::int64_t> memory = std::vector<std::int64_t>(1000);
};

// The victim dies once all others have called this function, so that no earlier call depends on it.
void connect_and_die(const Case& it) {
  if (it.rank != it.victim) {
    CHECK_OK(MPI_Send(nullptr, 0, MPI_INT, it.victim, 1, MPI_COMM_WORLD));
    return;
  }
  for (int rank = 0; rank < it.victim; ++rank)
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  std::raise(SIGKILL);
  std::abort();
}

// Repeats the call until it fails, and returns its error.
template <class Call>
int until_it_fails(const Call& call) {
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) code = call();
  return code;
}

void expect_failure(int code) {
  if (check::error_class(code) != MPIX_ERR_PROC_FAILED)
    check::fail(__FILE__, __LINE__, "another error: " + check::error_text(code));
}

void open(Case& it, const std::string& kind) {
  void* base = nullptr;
  if (kind == "allocate") {
    CHECK_OK(MPI_Win_allocate(8000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &it.win));
  } else {
    CHECK_OK(MPI_Win_create(it.memory.data(), 8000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &it.win));
  }
  CHECK_OK(MPI_Win_set_errhandler(it.win, MPI_ERRORS_RETURN));
}

void fence(Case& it) {
  open(it, "allocate");
  CHECK_OK(MPI_Win_fence(0, it.win));
  connect_and_die(it);
  expect_failure(until_it_fails([&] { return MPI_Win_fence(0, it.win); }));
}

// Returns a group with the victim as its only member.
MPI_Group group_of_victim(const Case& it) {
  MPI_Group all;
  MPI_Group one;
  CHECK_OK(MPI_Win_get_group(it.win, &all));
  CHECK_OK(MPI_Group_incl(all, 1, &it.victim, &one));
  CHECK_OK(MPI_Group_free(&all));
  return one;
}

void start(Case& it) {
  open(it, "allocate");
  connect_and_die(it);
  MPI_Group victim = group_of_victim(it);
  expect_failure(MPI_Win_start(victim, 0, it.win));
  CHECK_OK(MPI_Group_free(&victim));
}

void wait(Case& it) {
  open(it, "create");
  connect_and_die(it);
  MPI_Group victim = group_of_victim(it);
  const int posted = MPI_Win_post(victim, 0, it.win);
  expect_failure(posted != MPI_SUCCESS ? posted : MPI_Win_wait(it.win));
  CHECK_OK(MPI_Group_free(&victim));
}

// The victim dies while it holds a lock that others wait for.
void lock(Case& it) {
  open(it, "allocate");
  if (it.rank == it.victim) CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, it.win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  connect_and_die(it);
  expect_failure(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, it.win));
}

// Checks operations that the victim would have had to execute.
void flush(Case& it) {
  open(it, "create");
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, it.victim, 0, it.win));
  if (it.rank == it.victim) CHECK_OK(MPI_Win_unlock(it.victim, it.win));
  connect_and_die(it);
  const std::vector<std::int64_t> data(1000, 1);
  std::int64_t result = 0;
  expect_failure(until_it_fails([&] {
    const int updated =
        MPI_Accumulate(data.data(), 1000, MPI_INT64_T, it.victim, 0, 1000, MPI_INT64_T, MPI_SUM, it.win);
    if (updated != MPI_SUCCESS) return updated;
    const int fetched = MPI_Fetch_and_op(data.data(), &result, MPI_INT64_T, it.victim, 0, MPI_SUM, it.win);
    return fetched != MPI_SUCCESS ? fetched : MPI_Win_flush(it.victim, it.win);
  }));
  static_cast<void>(MPI_Win_unlock(it.victim, it.win));
}

// Checks operations with requests: the wait for each request ends.
void request(Case& it) {
  open(it, "create");
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Win_lock_all(0, it.win));
  connect_and_die(it);
  const std::vector<std::int64_t> data(1000, 1);
  expect_failure(until_it_fails([&] {
    MPI_Request request = MPI_REQUEST_NULL;
    const int started =
        MPI_Raccumulate(data.data(), 1000, MPI_INT64_T, it.victim, 0, 1000, MPI_INT64_T, MPI_SUM, it.win, &request);
    return started != MPI_SUCCESS ? started : MPI_Wait(&request, MPI_STATUS_IGNORE);
  }));
  static_cast<void>(MPI_Win_unlock_all(it.win));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Case it;
  it.rank = check::world_rank();
  it.size = check::world_size();
  it.victim = it.size - 1;
  const std::string name = argc > 1 ? argv[1] : "fence";
  if (name == "fence") fence(it);
  if (name == "start") start(it);
  if (name == "wait") wait(it);
  if (name == "lock") lock(it);
  if (name == "flush") flush(it);
  if (name == "request") request(it);
  CHECK_OK(MPI_Win_free(&it.win));
  // The others continue with a new window.
  MPI_Comm left;
  CHECK_OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left));
  int size = 0;
  int rank = -1;
  MPI_Comm_size(left, &size);
  MPI_Comm_rank(left, &rank);
  CHECK_EQ(size, it.size - 1);
  int* base = nullptr;
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate(4, 4, MPI_INFO_NULL, left, &base, &win));
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_EQ(*base, (rank + size - 1) % size);
  CHECK_OK(MPI_Win_free(&win));
  MPI_Comm_free(&left);
  if (it.rank == 0) std::printf("the others went on\n");
  MPI_Finalize();
  return 0;
}

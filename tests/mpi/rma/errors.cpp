// Incorrect use of windows: the error has the right class, and a message that describes the mistake.
#include <string>
#include <vector>

#include "window_memory.hpp"

namespace {

void expect(int code, int wanted, const char* part, int line) {
  check::raises(__FILE__, line, "the call", code, wanted);
  const std::string text = check::error_text(code);
  if (check::headrace() && text.find(part) == std::string::npos)
    check::fail(__FILE__, line, "\"" + text + "\" does not say \"" + part + "\"");
}
#define WRONG(call, wanted, part) expect((call), (wanted), (part), __LINE__)

MPI_Win quiet(MPI_Aint size, MPI_Info info = MPI_INFO_NULL) {
  MPI_Win win;
  void* base = nullptr;
  CHECK_OK(MPI_Win_allocate(size, 4, info, MPI_COMM_WORLD, &base, &win));
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  return win;
}

void epochs(const check::Environment& mpi) {
  MPI_Win win = quiet(40);
  MPI_Group all;
  CHECK_OK(MPI_Win_get_group(win, &all));
  int value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  WRONG(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "no epoch");
  WRONG(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC, "not locked");
  WRONG(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all");
  WRONG(MPI_Win_complete(win), MPI_ERR_RMA_SYNC, "MPI_Win_start");
  WRONG(MPI_Win_wait(win), MPI_ERR_RMA_SYNC, "MPI_Win_post");
  int flag = 0;
  WRONG(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC, "MPI_Win_post");
  WRONG(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_flush");
  WRONG(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_flush_local_all");
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  WRONG(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "already");
  WRONG(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock");
  WRONG(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock");
  WRONG(MPI_Win_start(all, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock");
  if (mpi.size > 1) WRONG(MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "not locked");
  if (mpi.size > 1) WRONG(MPI_Win_flush(1, win), MPI_ERR_RMA_SYNC, "not locked");
  {
    MPI_Win same = win;
    WRONG(MPI_Win_free(&same), MPI_ERR_RMA_SYNC, "MPI_Win_lock");
  }
  CHECK_OK(MPI_Win_unlock(0, win));
  CHECK_OK(MPI_Win_fence(0, win));
  WRONG(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC, "with a request");
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));  // no operation has been started since the fence
  CHECK_OK(MPI_Win_unlock(0, win));
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Put(&value, 1, MPI_INT, mpi.rank, 0, 1, MPI_INT, win));
  WRONG(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_fence");
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK_OK(MPI_Win_post(all, 0, win));
  WRONG(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC, "twice");
  WRONG(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_wait");
  CHECK_OK(MPI_Win_start(all, 0, win));
  CHECK_OK(MPI_Win_complete(win));
  CHECK_OK(MPI_Win_wait(win));
  CHECK_OK(MPI_Group_free(&all));
  CHECK_OK(MPI_Win_free(&win));
  WRONG(MPI_Win_fence(0, win), MPI_ERR_WIN, "MPI_WIN_NULL");
}

void arguments(const check::Environment& mpi) {
  MPI_Win win = quiet(40);
  int value[20] = {};
  CHECK_OK(MPI_Win_lock_all(0, win));
  WRONG(MPI_Put(value, 1, MPI_INT, mpi.size, 0, 1, MPI_INT, win), MPI_ERR_RANK, "ranks 0 to");
  WRONG(MPI_Get(value, 1, MPI_INT, -7, 0, 1, MPI_INT, win), MPI_ERR_RANK, "ranks 0 to");
  WRONG(MPI_Win_flush(mpi.size, win), MPI_ERR_RANK, "ranks 0 to");
  for (int target = 0; target < mpi.size; ++target) {
    WRONG(MPI_Put(value, 1, MPI_INT, target, 10, 1, MPI_INT, win), MPI_ERR_RMA_RANGE, "40 bytes");
    WRONG(MPI_Get(value, 11, MPI_INT, target, 0, 11, MPI_INT, win), MPI_ERR_RMA_RANGE, "40 bytes");
    WRONG(MPI_Accumulate(value, 1, MPI_INT, target, -1, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE, "40 bytes");
    WRONG(MPI_Put(value, 5, MPI_INT, target, 0, 3, MPI_INT, win), MPI_ERR_TRUNCATE, "room for 12");
    WRONG(MPI_Get(value, 1, MPI_INT, target, 0, 3, MPI_INT, win), MPI_ERR_TRUNCATE, "room for 4");
  }
  WRONG(MPI_Put(value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT, "negative");
  WRONG(MPI_Put(value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
  WRONG(MPI_Accumulate(value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP, "MPI_NO_OP");
  WRONG(MPI_Accumulate(value, 1, MPI_INT, 0, 0, 1, MPI_FLOAT, MPI_SUM, win), MPI_ERR_TYPE, "MPI_FLOAT");
  WRONG(MPI_Accumulate(value, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP, "MPI_BAND");
  WRONG(MPI_Compare_and_swap(value, value + 1, value + 2, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE, "integers");
  MPI_Op own;
  CHECK_OK(MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &own));
  WRONG(MPI_Accumulate(value, 1, MPI_INT, 0, 0, 1, MPI_INT, own, win), MPI_ERR_OP, "predefined");
  CHECK_OK(MPI_Op_free(&own));
  // An operation with the target MPI_PROC_NULL has no effect.
  value[0] = 5;
  CHECK_OK(MPI_Put(value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
  CHECK_OK(MPI_Get(value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
  CHECK_EQ(value[0], 5);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Rget(value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Win_unlock_all(win));
  WRONG(MPI_Win_lock(17, 0, 0, win), MPI_ERR_LOCKTYPE, "lock_type");
  WRONG(MPI_Win_lock(MPI_LOCK_SHARED, mpi.size, 0, win), MPI_ERR_RANK, "ranks 0 to");
  WRONG(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT, "MPI_MODE_NOCHECK");
  WRONG(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT, "MPI_Win_fence");
  CHECK_OK(MPI_Win_free(&win));
}

void kinds(const check::Environment& mpi) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int memory[10];
  MPI_Win win = MPI_WIN_NULL;
  WRONG(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE, "size");
  WRONG(MPI_Win_create(memory, 40, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP, "disp_unit");
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "no_locks", "true"));
  win = quiet(40, info);
  CHECK_OK(MPI_Info_free(&info));
  WRONG(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "no_locks");
  WRONG(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "no_locks");
  WRONG(MPI_Win_attach(win, memory, 40), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
  CHECK_OK(MPI_Win_free(&win));
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Win_attach(win, memory, 20));
  WRONG(MPI_Win_attach(win, memory + 4, 20), MPI_ERR_RMA_ATTACH, "overlaps");
  WRONG(MPI_Win_detach(win, memory + 1), MPI_ERR_RMA_ATTACH, "no memory was attached");
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  WRONG(MPI_Win_shared_query(win, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
  // The call that completes the operation returns errors found by the target.
  MPI_Aint at = 0;
  CHECK_OK(MPI_Get_address(memory, &at));
  std::vector<MPI_Aint> all(static_cast<std::size_t>(mpi.size));
  CHECK_OK(MPI_Allgather(&at, 1, MPI_AINT, all.data(), 1, MPI_AINT, MPI_COMM_WORLD));
  const int target = (mpi.rank + 1) % mpi.size;
  const MPI_Aint its = all[static_cast<std::size_t>(target)];
  int value[10] = {};
  CHECK_OK(MPI_Win_lock_all(0, win));
  const int put = MPI_Put(value, 6, MPI_INT, target, its, 6, MPI_INT, win);
  WRONG(put != MPI_SUCCESS ? put : MPI_Win_flush(target, win), MPI_ERR_RMA_RANGE, "attached");
  CHECK_OK(MPI_Win_flush(target, win));  // reported once
  if (target != mpi.rank) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Rget(value, 6, MPI_INT, target, its, 6, MPI_INT, win, &request));
    WRONG(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE, "attached");
  }
  CHECK_OK(MPI_Put(value, 5, MPI_INT, target, its, 5, MPI_INT, win));
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_detach(win, memory));
  CHECK_OK(MPI_Win_free(&win));
  if (mpi.size > 1) {
    MPI_Comm half;
    MPI_Comm inter;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mpi.rank % 2, 0, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mpi.rank % 2, 5, &inter));
    CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    WRONG(MPI_Win_create_dynamic(MPI_INFO_NULL, inter, &win), MPI_ERR_COMM, "intracommunicators");
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
  }
  if (!check::one_host() && mpi.size > 1)
    WRONG(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_RMA_SHARED, "share");
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  epochs(mpi);
  arguments(mpi);
  kinds(mpi);
  return 0;
}

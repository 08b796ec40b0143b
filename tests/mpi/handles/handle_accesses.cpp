// Operations on windows and files with effects that no other call has: flushes (the data is used immediately
// afterwards), MPI_Win_sync, hints, keys, a write that is completed later, MPI_File_sync.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../common/check.hpp"
#include "../io/io_test.hpp"

static int syncs = 0;

// Counts calls of fsync().
extern "C" __attribute__((visibility("default"))) int fsync(int descriptor) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace {

constexpr int kEach = 1 << 18;

// A window in which each rank's memory has a part for each rank.
class Window {
 public:
  explicit Window(const check::Environment& mpi)
      : memory(static_cast<std::size_t>(mpi.size) * kEach, -1), size_(mpi.size) {
    CHECK_OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(int)), sizeof(int),
                            MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  }
  ~Window() { CHECK_OK(MPI_Win_free(&win)); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void put(const std::vector<int>& from, int target, int part) const {
    CHECK_OK(MPI_Put(from.data(), kEach, MPI_INT, target, static_cast<MPI_Aint>(part) * kEach, kEach, MPI_INT, win));
  }
  void get(int* to, int target, int part) const {
    CHECK_OK(MPI_Get(to, kEach, MPI_INT, target, static_cast<MPI_Aint>(part) * kEach, kEach, MPI_INT, win));
  }
  // Checks every part against `value`.
  template <class Value>
  void expect(Value value) const {
    for (int part = 0; part < size_; ++part) {
      for (int i = 0; i < kEach; ++i)
        CHECK_EQ(memory[static_cast<std::size_t>(part) * kEach + static_cast<std::size_t>(i)], value(part, i));
    }
  }

  std::vector<int> memory;
  MPI_Win win = MPI_WIN_NULL;

 private:
  int size_;
};

void barrier() { CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); }

// The origin's memory may be reused after the flush, and contains the data of the get.
void flush_local(const check::Environment& mpi) {
  Window window(mpi);
  if (check::headrace()) CHECK_CLASS(MPI_Win_flush_local(mpi.rank, window.win), MPI_ERR_RMA_SYNC);
  const auto value = [](int origin, int i) { return origin * 1000000 + i; };
  std::vector<int> data(kEach);
  barrier();
  CHECK_OK(MPI_Win_lock_all(0, window.win));
  for (int step = 1; step <= mpi.size; ++step) {
    const int target = (mpi.rank + step) % mpi.size;
    for (int i = 0; i < kEach; ++i) data[static_cast<std::size_t>(i)] = value(mpi.rank, i);
    window.put(data, target, mpi.rank);
    CHECK_OK(MPI_Win_flush_local(target, window.win));
    std::fill(data.begin(), data.end(), -2);
  }
  CHECK_OK(MPI_Win_unlock_all(window.win));
  barrier();
  CHECK_OK(MPI_Win_lock_all(0, window.win));
  CHECK_OK(MPI_Win_sync(window.win));
  window.expect(value);
  for (int step = 1; step <= mpi.size; ++step) {
    const int target = (mpi.rank + step) % mpi.size;
    std::fill(data.begin(), data.end(), -3);
    window.get(data.data(), target, target);
    CHECK_OK(MPI_Win_flush_local(target, window.win));
    for (int i = 0; i < kEach; ++i) CHECK_EQ(data[static_cast<std::size_t>(i)], value(target, i));
  }
  CHECK_OK(MPI_Win_unlock_all(window.win));
}

// After the flush, puts are complete at the target and gets at the origin, for all ranks.
void flush_all(const check::Environment& mpi) {
  Window window(mpi);
  if (check::headrace()) CHECK_CLASS(MPI_Win_flush_all(window.win), MPI_ERR_RMA_SYNC);
  std::vector<int> data(kEach), got(window.memory.size());
  barrier();
  CHECK_OK(MPI_Win_lock_all(0, window.win));
  for (int round = 0; round < 3; ++round) {
    const auto value = [&](int origin, int i) { return origin * 1000000 + round * 10 + i; };
    for (int i = 0; i < kEach; ++i) data[static_cast<std::size_t>(i)] = value(mpi.rank, i);
    for (int target = 0; target < mpi.size; ++target) window.put(data, target, mpi.rank);
    CHECK_OK(MPI_Win_flush_all(window.win));
    barrier();
    CHECK_OK(MPI_Win_sync(window.win));
    window.expect(value);
    std::fill(got.begin(), got.end(), -3);
    for (int target = 0; target < mpi.size; ++target)
      window.get(got.data() + static_cast<std::size_t>(target) * kEach, target, target);
    CHECK_OK(MPI_Win_flush_all(window.win));
    CHECK(got == window.memory);
    barrier();
  }
  CHECK_OK(MPI_Win_unlock_all(window.win));
}

// A process that only synchronizes its window sees other processes' puts.
void sync(const check::Environment& mpi) {
  Window window(mpi);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  if (check::headrace()) CHECK_CLASS(MPI_Win_sync(MPI_WIN_NULL), MPI_ERR_WIN);
  barrier();
  CHECK_OK(MPI_Win_lock_all(0, window.win));
  if (mpi.rank == 0) {
    for (int other = 1; other < mpi.size; ++other)
      CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const std::vector<int> data(kEach, 9);
    for (int target = 0; target < mpi.size; ++target) window.put(data, target, 0);
    CHECK_OK(MPI_Win_flush_all(window.win));
  } else {
    CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));  // no other call follows
  }
  const volatile int* const last = window.memory.data() + kEach - 1;
  for (const double end = MPI_Wtime() + 10; check::headrace() && *last != 9 && MPI_Wtime() < end;)
    CHECK_OK(MPI_Win_sync(window.win));
  if (!check::headrace()) barrier();
  CHECK_OK(MPI_Win_sync(window.win));
  CHECK_EQ(*last, 9);
  CHECK_OK(MPI_Win_unlock_all(window.win));
}

void hints(const check::Environment& mpi) {
  Window window(mpi);
  MPI_Info set = MPI_INFO_NULL, found = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&set));
  CHECK_OK(MPI_Info_set(set, "accumulate_ops", "same_op"));
  CHECK_OK(MPI_Win_set_info(window.win, set));
  CHECK_OK(MPI_Info_free(&set));
  CHECK_OK(MPI_Win_get_info(window.win, &found));
  char value[100] = "";
  int room = sizeof value, flag = 0;
  CHECK_OK(MPI_Info_get_string(found, "accumulate_ops", &room, value, &flag));
  if (check::headrace()) CHECK_EQ(std::string(value), std::string("same_op"));
  CHECK_OK(MPI_Info_free(&found));

  int key = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, nullptr));
  CHECK(key != MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Win_free_keyval(&key));
  CHECK_EQ(key, MPI_KEYVAL_INVALID);
}

void files(const check::Environment& mpi) {
  constexpr int kBytes = 5000;
  const io_test::Name name("accesses");
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK_OK(MPI_File_seek(file, static_cast<MPI_Offset>(mpi.rank) * kBytes, MPI_SEEK_SET));
  const std::vector<char> data(kBytes, static_cast<char>('a' + mpi.rank));
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_File_iwrite(file, data.data(), kBytes, MPI_CHAR, &request));
  CHECK(request != MPI_REQUEST_NULL);
  MPI_Status status;
  int count = -1;
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Get_count(&status, MPI_CHAR, &count));
  CHECK_EQ(count, kBytes);
  const int before = syncs;
  CHECK_OK(MPI_File_sync(file));
  int done = syncs - before, all = -1;
  CHECK_OK(MPI_Allreduce(&done, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  if (check::headrace()) CHECK(all >= 1);
  barrier();
  CHECK_OK(MPI_File_sync(file));
  const io_test::Bytes found = io_test::content(name.c_str());
  CHECK_EQ(found.size(), mpi.size * kBytes);
  for (int rank = 0; rank < mpi.size; ++rank) {
    for (int i = 0; i < kBytes; ++i) CHECK_EQ(found[static_cast<std::size_t>(rank * kBytes + i)], 'a' + rank);
  }
  CHECK_OK(MPI_File_close(&file));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  flush_local(mpi);
  flush_all(mpi);
  sync(mpi);
  hints(mpi);
  files(mpi);
}

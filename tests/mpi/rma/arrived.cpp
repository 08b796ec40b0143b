// MPI_Win_flush, MPI_Win_flush_all, MPI_Win_unlock and MPI_Win_unlock_all return once the data is in the target's
// memory (MPI 5.0 section 12.5): the origin sees that through a file that both have mapped, since the ranks run on one
// machine even if the library treats them as ranks on two hosts. MPI_Win_flush_local and requests make the origin's
// buffer reusable.
//
//   arrived
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr std::size_t kWords = 30000;
constexpr int kRounds = 40;
constexpr std::size_t kLengths[] = {1, 400, kWords};

// Returns memory for all ranks, in an unnamed file that all have mapped.
std::int64_t* map_shared(std::size_t bytes, int rank) {
  char path[4096] = {};
  int file = -1;
  if (rank == 0) {
    const char* const directory = std::getenv("TMPDIR");
    const std::string name = std::string(directory != nullptr ? directory : "/tmp") + "/rma-arrived-XXXXXX";
    CHECK(name.size() < sizeof path);
    std::memcpy(path, name.c_str(), name.size());
    file = ::mkstemp(path);
    CHECK(file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0);
  }
  CHECK_OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
  if (rank != 0) file = ::open(path, O_RDWR);
  CHECK(file >= 0);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(memory != MAP_FAILED);
  ::close(file);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) ::unlink(path);
  return static_cast<std::int64_t*>(memory);
}

void expect(const std::int64_t* there, std::size_t words, std::int64_t value, const char* call) {
  for (std::size_t i = 0; i < words; ++i) {
    if (reinterpret_cast<const volatile std::int64_t*>(there)[i] != value)
      check::fail(__FILE__, __LINE__, std::string(call) + " returned before the data had arrived");
  }
}

// Rank 0 writes into the memory of the last rank, `there`.
void write(MPI_Win win, int target, const std::int64_t* there) {
  std::vector<std::int64_t> data(kWords);
  std::int64_t value = 0;
  const auto put = [&](std::size_t words) {
    data.assign(kWords, ++value);
    const auto count = static_cast<int>(words);
    CHECK_OK(MPI_Put(data.data(), count, MPI_INT64_T, target, 0, count, MPI_INT64_T, win));
  };
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t words : kLengths) {
      CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
      put(words);
      CHECK_OK(MPI_Win_flush(target, win));
      expect(there, words, value, "MPI_Win_flush");
      put(words);
      CHECK_OK(MPI_Win_flush_all(win));
      expect(there, words, value, "MPI_Win_flush_all");
      put(words);
      CHECK_OK(MPI_Win_unlock(target, win));
      expect(there, words, value, "MPI_Win_unlock");
      CHECK_OK(MPI_Win_lock_all(0, win));
      put(words);
      CHECK_OK(MPI_Win_flush_local(target, win));
      const std::int64_t kept = value;
      data.assign(kWords, -1);
      CHECK_OK(MPI_Win_unlock_all(win));
      expect(there, words, kept, "MPI_Win_unlock_all");

      CHECK_OK(MPI_Win_lock_all(0, win));
      data.assign(kWords, ++value);
      const auto count = static_cast<int>(words);
      MPI_Request request;
      CHECK_OK(MPI_Rput(data.data(), count, MPI_INT64_T, target, 0, count, MPI_INT64_T, win, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      data.assign(kWords, -1);
      CHECK_OK(MPI_Win_flush(target, win));
      expect(there, words, value, "MPI_Win_flush after MPI_Rput");
      std::vector<std::int64_t> back(words, -1);
      CHECK_OK(MPI_Rget(back.data(), count, MPI_INT64_T, target, 0, count, MPI_INT64_T, win, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      expect(back.data(), words, value, "MPI_Wait after MPI_Rget");
      back.assign(words, -1);
      CHECK_OK(MPI_Get(back.data(), count, MPI_INT64_T, target, 0, count, MPI_INT64_T, win));
      CHECK_OK(MPI_Win_flush_local_all(win));
      expect(back.data(), words, value, "MPI_Win_flush_local_all after MPI_Get");
      CHECK_OK(MPI_Win_unlock_all(win));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  int rank = 0;
  int size = 0;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const std::size_t bytes = kWords * sizeof(std::int64_t);
  std::int64_t* const all = map_shared(bytes * static_cast<std::size_t>(size), rank);
  std::int64_t* const own = all + kWords * static_cast<std::size_t>(rank);
  MPI_Win win;
  CHECK_OK(MPI_Win_create(own, static_cast<MPI_Aint>(bytes), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  if (rank == 0) write(win, size - 1, all + kWords * static_cast<std::size_t>(size - 1));
  CHECK_OK(MPI_Win_free(&win));
  ::munmap(all, bytes * static_cast<std::size_t>(size));
  CHECK_OK(MPI_Finalize());
  if (rank == 0) std::puts("ok");
  return 0;
}

// Files used by several threads at once: each thread uses its own file, and all use one that the ranks share, through
// explicit offsets and the shared pointer, while the main thread exchanges messages.
#include <atomic>
#include <cstring>
#include <thread>

#include "io_test.hpp"

namespace {

using io_test::Name;

constexpr int kThreads = 3, kRounds = 30, kInts = 3000;

void own_file(const std::string& name, int thread) {
  MPI_File file = MPI_FILE_NULL;
  const std::string path = name + "." + std::to_string(check::world_rank()) + "." + std::to_string(thread);
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
  std::vector<int> data(kInts), found(kInts);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kInts; ++i) data[static_cast<std::size_t>(i)] = thread * 1000000 + round * kInts + i;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_File_iwrite_at(file, 0, data.data(), kInts, MPI_INT, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at(file, 0, found.data(), kInts, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(found == data);
  }
  CHECK_OK(MPI_File_close(&file));
}

void one_file(MPI_File file, int thread) {
  const int writer = check::world_rank() * kThreads + thread;
  std::vector<int> data(kInts, writer), found(kInts);
  for (int round = 0; round < kRounds; ++round) {
    const MPI_Offset offset = static_cast<MPI_Offset>(writer) * kInts;
    CHECK_OK(MPI_File_write_at(file, offset, data.data(), kInts, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at(file, offset, found.data(), kInts, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(found == data);
  }
}

void shared(MPI_File file, int thread) {
  const int writer = check::world_rank() * kThreads + thread;
  for (int round = 0; round < kRounds; ++round)
    CHECK_OK(MPI_File_write_shared(file, &writer, 1, MPI_INT, MPI_STATUS_IGNORE));
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv, 1, MPI_THREAD_MULTIPLE);
  const Name name("threads"), pointer("threads_shared");
  MPI_File file = MPI_FILE_NULL, log = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, pointer.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &log));
  CHECK_OK(MPI_File_set_view(log, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  const std::string path = name.c_str();
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      own_file(path, thread);
      one_file(file, thread);
      shared(log, thread);
      --running;
    });
  }
  // All ranks continue until the threads of all ranks have finished.
  for (int going = 1; going != 0;) {
    const int mine = running.load();
    CHECK_OK(MPI_Allreduce(&mine, &going, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_OK(MPI_File_close(&file));
  CHECK_OK(MPI_File_close(&log));
  if (mpi.rank == 0) {
    const io_test::Bytes bytes = io_test::content(pointer.c_str());
    const auto writers = static_cast<std::size_t>(mpi.size * kThreads);
    CHECK_EQ(bytes.size(), writers * kRounds * sizeof(int));
    std::vector<int> seen(writers, 0);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(int)) {
      int writer = -1;
      std::memcpy(&writer, bytes.data() + at, sizeof writer);
      CHECK(writer >= 0 && writer < static_cast<int>(writers));
      ++seen[static_cast<std::size_t>(writer)];
    }
    for (const int count : seen) CHECK_EQ(count, kRounds);
  }
  return 0;
}

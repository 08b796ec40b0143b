// Several threads of each rank work concurrently on one window, and on a window per thread.
#include <pthread.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "window_memory.hpp"

namespace {

constexpr int kThreads = 3;
constexpr int kTimes = 100;

void in_threads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& each : threads) each.join();
}

// All threads use one window with one counter and a slot for each thread.
void together(const check::Environment& mpi, const std::string& kind) {
  rma_test::WindowMemory memory(kind, 8 * (1 + kThreads * static_cast<std::size_t>(mpi.size)), 8);
  auto* const own = static_cast<std::int64_t*>(memory.own());
  for (int i = 0; i < 1 + kThreads * mpi.size; ++i) own[i] = 0;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, memory.window));
  in_threads([&](int thread) {
    const std::int64_t one = 1;
    for (int i = 0; i < kTimes; ++i) {
      const int target = (mpi.rank + i) % mpi.size;
      std::int64_t before = -1;
      CHECK_OK(
          MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, memory.displacement(target, 0), MPI_SUM, memory.window));
      CHECK_OK(MPI_Win_flush(target, memory.window));
      CHECK(before >= 0);
      const auto place = static_cast<std::size_t>(1 + mpi.rank * kThreads + thread);
      const std::int64_t value = 1000 * i + thread;
      std::int64_t found = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, target, memory.displacement(target, 8 * place), 1, MPI_INT64_T,
                       memory.window));
      CHECK_OK(MPI_Win_flush(target, memory.window));
      CHECK_OK(MPI_Rget(&found, 1, MPI_INT64_T, target, memory.displacement(target, 8 * place), 1, MPI_INT64_T,
                        memory.window, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK_EQ(found, value);
    }
  });
  CHECK_OK(MPI_Win_unlock_all(memory.window));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  std::int64_t all = 0;
  CHECK_OK(MPI_Allreduce(&own[0], &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(all, kTimes * kThreads * mpi.size);
}

// Each thread waits in the epochs of its own window.
void apart(const check::Environment& mpi, const std::string& kind) {
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
  in_threads([&](int thread) {
    int* base = nullptr;
    std::vector<int> memory(4);
    MPI_Win win;
    const auto at = static_cast<std::size_t>(thread);
    if (kind == "create") {
      base = memory.data();
      CHECK_OK(MPI_Win_create(base, 16, 4, MPI_INFO_NULL, comms[at], &win));
    } else {
      CHECK_OK(MPI_Win_allocate(16, 4, MPI_INFO_NULL, comms[at], &base, &win));
    }
    for (int i = 0; i < 20; ++i) {
      *base = -1;
      CHECK_OK(MPI_Win_fence(0, win));
      const int value = 100 * i + 10 * thread + mpi.rank;
      CHECK_OK(MPI_Put(&value, 1, MPI_INT, (mpi.rank + 1) % mpi.size, 0, 1, MPI_INT, win));
      CHECK_OK(MPI_Win_fence(0, win));
      CHECK_EQ(*base, 100 * i + 10 * thread + (mpi.rank + mpi.size - 1) % mpi.size);
    }
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_OK(MPI_Win_free(&win));
  });
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_free(&each));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_MULTIPLE);
  for (const char* kind : {"allocate", "create"}) {
    together(mpi, kind);
    apart(mpi, kind);
  }
  return 0;
}

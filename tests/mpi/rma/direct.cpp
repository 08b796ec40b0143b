// Calls on windows that need no library lock (rma/direct.hpp): random operations of threads with a window each, updates
// of threads that share a window, and calls that complete while another thread holds the library lock.
//
//   direct mix <threads> <epochs> [seed]    default seed: the time; printed
//   direct shared <threads> <times>
//   direct unlocked
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>

#include "window_mix.hpp"

namespace {

using rma_test::WindowMemory;
using rma_test::WindowMix;

template <class Work>
void in_threads(int count, Work&& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(work, t);
  for (std::thread& each : threads) each.join();
}

void mix(const check::Environment& mpi, int threads, int epochs, unsigned seed) {
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  if (mpi.rank == 0) std::printf("seed %u\n", seed), std::fflush(stdout);
  for (const char* kind : {"allocate", "create"}) {
    std::vector<std::unique_ptr<WindowMix>> windows;
    for (int t = 0; t < threads; ++t) windows.push_back(std::make_unique<WindowMix>(kind, MPI_COMM_WORLD));
    in_threads(threads, [&](int t) {
      WindowMix::Random random(seed + static_cast<unsigned>(t * mpi.size + mpi.rank));
      for (int i = 0; i < epochs; ++i) windows[static_cast<std::size_t>(t)]->epoch(random, 1 + static_cast<int>(i % 7));
    });
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

struct Place {
  explicit Place(MPI_Comm comm) {
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
  }
  int rank = 0;
  int size = 0;
};

// Counts in all threads of all ranks, in one element at each rank, with every kind of update: single ones by
// instruction, and vectors, which change the way in which all others exclude each other. No update is lost, and each
// value is read once.
void shared(MPI_Comm comm, int threads, int times, const std::string& kind) {
  const Place mpi(comm);
  constexpr int kVector = 4096;
  WindowMemory memory(kind, 8 * kVector, 8, comm);
  auto* const own = static_cast<std::int64_t*>(memory.own());
  std::fill_n(own, kVector, 0);
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Win_lock_all(0, memory.window));
  std::vector<std::vector<std::int64_t>> last(static_cast<std::size_t>(threads));
  std::atomic<std::int64_t> added = 0;  // by this rank's vectors
  in_threads(threads, [&](int t) {
    const std::vector<std::int64_t> ones(kVector, 1);
    std::vector<std::int64_t>& seen = last[static_cast<std::size_t>(t)];
    seen.assign(static_cast<std::size_t>(mpi.size), -1);
    for (int i = 0; i < times; ++i) {
      const int target = (mpi.rank + t + i) % mpi.size;
      const MPI_Aint at = memory.displacement(target, 0);
      std::int64_t before = -1;
      CHECK_OK(MPI_Fetch_and_op(ones.data(), &before, MPI_INT64_T, target, at, MPI_SUM, memory.window));
      CHECK_OK(MPI_Accumulate(ones.data(), 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_SUM, memory.window));
      CHECK_OK(MPI_Win_flush(target, memory.window));
      // This thread's own update lies between two reads.
      CHECK(before > seen[static_cast<std::size_t>(target)]);
      seen[static_cast<std::size_t>(target)] = before + 1;
      for (std::int64_t now = before;;) {
        const std::int64_t next = now + 1;
        std::int64_t found = -1;
        CHECK_OK(MPI_Compare_and_swap(&next, &now, &found, MPI_INT64_T, target, at, memory.window));
        CHECK_OK(MPI_Win_flush(target, memory.window));
        if (found == now) break;
        now = found;
      }
      if ((i + t) % 16 != 0) continue;
      CHECK_OK(
          MPI_Accumulate(ones.data(), kVector, MPI_INT64_T, target, at, kVector, MPI_INT64_T, MPI_SUM, memory.window));
      CHECK_OK(MPI_Win_flush(target, memory.window));
      ++added;
    }
  });
  CHECK_OK(MPI_Win_unlock_all(memory.window));
  CHECK_OK(MPI_Barrier(comm));
  std::vector<std::int64_t> sums(kVector, -1);
  std::int64_t vectors = -1;
  const std::int64_t mine = added;
  CHECK_OK(MPI_Allreduce(own, sums.data(), kVector, MPI_INT64_T, MPI_SUM, comm));
  CHECK_OK(MPI_Allreduce(&mine, &vectors, 1, MPI_INT64_T, MPI_SUM, comm));
  CHECK_EQ(sums[0], vectors + std::int64_t{3} * times * threads * mpi.size);
  for (int i = 1; i < kVector; ++i) CHECK_EQ(sums[static_cast<std::size_t>(i)], vectors);
}

// Half of the threads add vectors, for which the processor has no atomic instruction, while the others add to single
// elements all over them; no update is lost.
void sweep(MPI_Comm comm, int threads, int times) {
  constexpr int kVector = 4096;
  constexpr int kStride = 61;  // has no divisor in common with kVector
  const int singles = 16 * times;
  const Place mpi(comm);
  WindowMemory memory("allocate", 8 * kVector, 8, comm);
  auto* const own = static_cast<std::int64_t*>(memory.own());
  std::fill_n(own, kVector, 0);
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Win_lock_all(0, memory.window));
  in_threads(2 * threads, [&](int t) {
    const std::vector<std::int64_t> ones(kVector, 1);
    for (int i = 0; i < (t % 2 == 0 ? times : singles); ++i) {
      const int target = (mpi.rank + i) % mpi.size;
      const int count = t % 2 == 0 ? kVector : 1;
      const std::size_t element = t % 2 == 0 ? 0 : static_cast<std::size_t>(i / mpi.size * kStride % kVector);
      CHECK_OK(MPI_Accumulate(ones.data(), count, MPI_INT64_T, target, memory.displacement(target, 8 * element), count,
                              MPI_INT64_T, MPI_SUM, memory.window));
      CHECK_OK(MPI_Win_flush(target, memory.window));
    }
  });
  CHECK_OK(MPI_Win_unlock_all(memory.window));
  CHECK_OK(MPI_Barrier(comm));
  std::vector<std::int64_t> sums(kVector, -1);
  CHECK_OK(MPI_Allreduce(own, sums.data(), kVector, MPI_INT64_T, MPI_SUM, comm));
  std::vector<std::int64_t> expected(kVector, std::int64_t{times} * threads * mpi.size);
  for (int i = 0; i < singles; ++i)
    expected[static_cast<std::size_t>(i / mpi.size * kStride % kVector)] += std::int64_t{threads} * mpi.size;
  for (std::size_t i = 0; i < kVector; ++i) CHECK_EQ(sums[i], expected[i]);
}

// Threads of one process take and release locks of different targets in one window.
void locks(MPI_Comm comm, int times, const std::string& kind) {
  const Place mpi(comm);
  WindowMemory memory(kind, 8 * static_cast<std::size_t>(mpi.size), 8, comm);
  auto* const own = static_cast<std::int64_t*>(memory.own());
  std::fill_n(own, mpi.size, 0);
  CHECK_OK(MPI_Barrier(comm));
  in_threads(mpi.size, [&](int target) {
    for (int i = 0; i < times; ++i) {
      std::int64_t found = -1;
      const MPI_Aint at = memory.displacement(target, 0);
      CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, memory.window));
      CHECK_OK(MPI_Get(&found, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, memory.window));
      CHECK_OK(MPI_Win_flush_local(target, memory.window));
      ++found;
      CHECK_OK(MPI_Put(&found, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, memory.window));
      CHECK_OK(MPI_Win_unlock(target, memory.window));
    }
  });
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, mpi.rank, 0, memory.window));
  CHECK_EQ(own[0], std::int64_t{times} * mpi.size);
  CHECK_OK(MPI_Win_unlock(mpi.rank, memory.window));
}

// One thread locks a target again and again, with an assertion that needs the library lock; the other locks another
// target without it, so that the epoch of the window begins and ends at any moment of the first thread's calls.
void both_ways(int times) {
  MPI_Comm host = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  if (Place(host).size < 2) return static_cast<void>(MPI_Comm_free(&host));
  WindowMemory memory("allocate", 8, 8, host);
  in_threads(2, [&](int target) {
    for (int i = 0; i < times; ++i) {
      CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, target == 0 ? MPI_MODE_NOCHECK : 0, memory.window));
      CHECK_OK(MPI_Win_unlock(target, memory.window));
    }
  });
  CHECK_OK(MPI_Barrier(host));
  CHECK_OK(MPI_Comm_free(&host));
}

// --- While another thread holds the library lock ---

std::atomic<bool> ready{false};  // the first call of a thread may need the lock
std::atomic<bool> holds{false};
std::atomic<bool> done{false};

// Runs with the library lock held, until the other thread has made its calls.
void hold(void*, void*, int*, MPI_Datatype*) {
  holds = true;
  while (!done) std::this_thread::yield();
}

void call_directly(MPI_Win win, int target, std::int64_t value) {
  const std::int64_t one = 1;
  std::int64_t found = -1;
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
  CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win));
  CHECK_OK(MPI_Win_flush(target, win));
  CHECK_OK(MPI_Fetch_and_op(&one, &found, MPI_INT64_T, target, 0, MPI_SUM, win));
  CHECK_OK(MPI_Win_flush_local(target, win));
  CHECK_EQ(found, value);
  CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_SUM, win));
  CHECK_OK(MPI_Win_flush_all(win));
  const std::int64_t expected = value + 2;
  CHECK_OK(MPI_Compare_and_swap(&one, &expected, &found, MPI_INT64_T, target, 0, win));
  CHECK_OK(MPI_Win_flush_local_all(win));
  CHECK_EQ(found, expected);
  CHECK_OK(MPI_Win_sync(win));
  found = -1;
  CHECK_OK(MPI_Get(&found, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win));
  CHECK_OK(MPI_Win_unlock(target, win));
  CHECK_EQ(found, 1);
}

void unlocked(const check::Environment& mpi) {
  WindowMemory memory("allocate", 8, 8);
  const int target = (mpi.rank + 1) % mpi.size;
  std::thread other([&] {
    call_directly(memory.window, target, 5);
    ready = true;
    while (!holds) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) call_directly(memory.window, target, i);
    done = true;
  });
  MPI_Op op;
  CHECK_OK(MPI_Op_create(hold, 1, &op));
  int in = 1;
  int out = 2;
  while (!ready) std::this_thread::yield();
  CHECK_OK(MPI_Reduce_local(&in, &out, 1, MPI_INT, op));
  other.join();
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_MULTIPLE);
  const std::string what = argc > 1 ? argv[1] : "mix";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 4;
  const int times = argc > 3 ? std::atoi(argv[3]) : 50;
  if (what == "unlocked") {
    unlocked(mpi);
  } else if (what == "shared") {
    for (const char* kind : {"allocate", "create"}) {
      // In a window of its own, a process alone updates the memory.
      for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
        shared(comm, threads, times, kind);
        if (std::string(kind) == "allocate") sweep(comm, std::max(1, threads / 2), 5 * times);
        locks(comm, times, kind);
      }
    }
    both_ways(500 * times);
  } else {
    mix(mpi, threads, times,
        argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : static_cast<unsigned>(std::time(nullptr)));
  }
  return 0;
}

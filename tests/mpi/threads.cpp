// MPI_THREAD_MULTIPLE: threads of two ranks that communicate concurrently, each pair with its own tags or its own
// communicator, sharing wildcards through matched probes, and waiting for each other's messages inside one process.
#include <functional>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kThreads = 4;

void on_threads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// Ping-pong and windows of mixed sizes, each thread with its own tag (or communicator).
void pairs(int rank, MPI_Comm comm, int tag) {
  const int peer = 1 - rank;
  for (int round = 0; round < 300; ++round) {
    const int length = round % 20 == 0 ? 50000 : round % 7 + 1;
    std::vector<int> out(static_cast<std::size_t>(length), tag * 1000 + round + rank), in(out.size(), -1);
    MPI_Request requests[2];
    CHECK_OK(MPI_Irecv(in.data(), length, MPI_INT, peer, tag, comm, &requests[0]));
    CHECK_OK(MPI_Isend(out.data(), length, MPI_INT, peer, tag, comm, &requests[1]));
    if (round % 2 == 0) {
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else {
      int done = 0;
      while (done == 0) CHECK_OK(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
    }
    for (const int value : in) CHECK_EQ(value, tag * 1000 + round + peer);
  }
}

// Blocking calls that wait for another thread of the same process.
void inside_one_process(int rank, int thread) {
  const int next = (thread + 1) % kThreads;
  for (int round = 0; round < 200; ++round) {
    int value = -1;
    if (thread == 0) {
      CHECK_OK(MPI_Send(&round, 1, MPI_INT, rank, 100 + next, MPI_COMM_WORLD));
      CHECK_OK(MPI_Recv(&value, 1, MPI_INT, rank, 100 + thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      CHECK_OK(MPI_Recv(&value, 1, MPI_INT, rank, 100 + thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Send(&value, 1, MPI_INT, rank, 100 + next, MPI_COMM_WORLD));
    }
    CHECK_EQ(value, round);
  }
}

// All threads receive from one stream: matched probes deliver every message to exactly one of them.
void shared_stream(int rank) {
  constexpr int kMessages = 4000;
  if (rank == 0) {
    for (int i = 0; i < kMessages; ++i) CHECK_OK(MPI_Send(&i, 1, MPI_INT, 1, 50, MPI_COMM_WORLD));
    return;
  }
  std::vector<std::vector<int>> taken(kThreads);
  on_threads([&](int thread) {
    for (int n = 0; n < kMessages / kThreads; ++n) {
      MPI_Message message;
      MPI_Status status;
      CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &message, &status));
      int value = -1;
      CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
      taken[static_cast<std::size_t>(thread)].push_back(value);
    }
  });
  std::vector<int> seen(kMessages, 0);
  for (const auto& values : taken) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      ++seen[static_cast<std::size_t>(values[i])];
      if (i > 0) CHECK(values[i] > values[i - 1]);  // each thread receives its messages in order
    }
  }
  for (const int times : seen) CHECK_EQ(times, 1);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2, MPI_THREAD_MULTIPLE);
  if (mpi.rank > 1) return 0;
  const int rank = mpi.rank;
  on_threads([&](int thread) { pairs(rank, MPI_COMM_WORLD, thread); });
  MPI_Comm both;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &both));
  std::vector<MPI_Comm> own(kThreads);
  for (MPI_Comm& comm : own) CHECK_OK(MPI_Comm_dup(both, &comm));
  on_threads([&](int thread) { pairs(rank, own[static_cast<std::size_t>(thread)], 1); });
  // Collectives in several threads, each on its own communicator.
  on_threads([&](int thread) {
    for (int round = 0; round < 100; ++round) {
      int sum = -1;
      const int mine = rank + thread + round;
      CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, own[static_cast<std::size_t>(thread)]));
      CHECK_EQ(sum, 2 * (thread + round) + 1);
    }
  });
  for (MPI_Comm& comm : own) CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_free(&both));
  on_threads([&](int thread) { inside_one_process(rank, thread); });
  shared_stream(rank);
  int main_thread = 0, level = 0;
  CHECK_OK(MPI_Is_thread_main(&main_thread));
  CHECK_EQ(main_thread, 1);
  CHECK_OK(MPI_Query_thread(&level));
  CHECK_EQ(level, MPI_THREAD_MULTIPLE);
}

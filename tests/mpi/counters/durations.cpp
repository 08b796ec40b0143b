// Calls of known length: durations <calls> <late> [channel].
//
// Rank 1 receives <calls> messages one after the other, and announces each receive with a message. For <late> of them,
// rank 0 sends only 5 ms after the announcement. Rank 1 prints how many of its receives took longer than kLong, and how
// many longer than 1.5 times kLong; check.py compares these numbers with rank 1's page. With "channel", the messages
// travel on a channel.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "../common/check.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::nanoseconds kLong{1 << 21};

void spin_for(std::chrono::nanoseconds time) {
  for (const auto begin = Clock::now(); Clock::now() - begin < time;) {
  }
}

void send(int calls, int late, MPI_Comm comm) {
  for (int i = 0; i < calls; ++i) {
    int ready = 0;
    CHECK_OK(MPI_Recv(&ready, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(ready, i);
    if (i % (calls / late) == calls / late - 1) spin_for(std::chrono::milliseconds(5));
    CHECK_OK(MPI_Send(&i, 1, MPI_INT, 1, 1, comm));
  }
}

void receive(int calls, MPI_Comm comm) {
  int over = 0, far_over = 0;
  for (int i = 0; i < calls; ++i) {
    CHECK_OK(MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    int got = -1;
    const auto begin = Clock::now();
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
    const auto took = Clock::now() - begin;
    CHECK_EQ(got, i);
    over += took > kLong ? 1 : 0;
    far_over += took > kLong + kLong / 2 ? 1 : 0;
  }
  std::printf("%d %d\n", over, far_over);
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 2000, late = argc > 2 ? std::atoi(argv[2]) : 40;
  const bool channel = argc > 3 && std::string_view(argv[3]) == "channel";
  int provided = 0, rank = 0;
  CHECK_OK(MPI_Init_thread(&argc, &argv, channel ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MPI_Comm comm = MPI_COMM_WORLD;
  if (channel) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  rank == 0 ? send(calls, late, comm) : receive(calls, comm);
  if (channel) CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Finalize());
  return 0;
}

// Messages among many ranks: a first message from each rank to each other one, all pairs at once, and receives from any
// source to which every other rank sends.
#include <numeric>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kLong = 20000;  // elements; not sent eagerly

int value_of(int from, int to, int message) { return (from * 1000 + to) * 1000 + message; }

// In each step, a rank meets two others that it has not met before.
void first_messages(const check::Environment& mpi) {
  for (int distance = 1; distance < mpi.size; ++distance) {
    const int to = (mpi.rank + distance) % mpi.size, from = (mpi.rank + mpi.size - distance) % mpi.size;
    const int mine = value_of(mpi.rank, to, 0);
    int other = -1;
    CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, to, 1, &other, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(other, value_of(from, mpi.rank, 0));
  }
}

// Both ranks of each pair send to one another at the same time, short and long messages.
void pairs_at_once(const check::Environment& mpi) {
  const int peer = mpi.rank ^ 1;
  if (peer >= mpi.size) return;
  for (const int count : {1, kLong}) {
    std::vector<int> mine(static_cast<std::size_t>(count)), other(mine.size(), -1);
    for (int round = 0; round < 20; ++round) {
      std::iota(mine.begin(), mine.end(), value_of(mpi.rank, peer, round));
      MPI_Request requests[2];
      CHECK_OK(MPI_Irecv(other.data(), count, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[0]));
      CHECK_OK(MPI_Isend(mine.data(), count, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[1]));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      for (int i = 0; i < count; ++i) CHECK_EQ(other[static_cast<std::size_t>(i)], value_of(peer, mpi.rank, round) + i);
    }
  }
}

// The messages of each sender arrive in the order in which it has sent them (section 3.5).
void any_source(const check::Environment& mpi, int receiver) {
  constexpr int kMessages = 20;
  if (mpi.rank != receiver) {
    for (int message = 0; message < kMessages; ++message) {
      const std::vector<int> data(message % 5 == 4 ? kLong : 1, value_of(mpi.rank, receiver, message));
      CHECK_OK(MPI_Send(data.data(), static_cast<int>(data.size()), MPI_INT, receiver, message, MPI_COMM_WORLD));
    }
    return;
  }
  std::vector<int> arrived(static_cast<std::size_t>(mpi.size), 0);
  std::vector<int> data(kLong);
  for (int left = kMessages * (mpi.size - 1); left > 0; --left) {
    MPI_Status status;
    CHECK_OK(MPI_Recv(data.data(), kLong, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    int& next = arrived[static_cast<std::size_t>(status.MPI_SOURCE)];
    CHECK_EQ(status.MPI_TAG, next);
    int count = 0;
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, next % 5 == 4 ? kLong : 1);
    for (int i = 0; i < count; ++i)
      CHECK_EQ(data[static_cast<std::size_t>(i)], value_of(status.MPI_SOURCE, receiver, next));
    ++next;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  first_messages(mpi);
  pairs_at_once(mpi);
  for (const int receiver : {0, mpi.size - 1, mpi.size / 2}) any_source(mpi, receiver);
}

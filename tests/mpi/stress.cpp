// Large numbers of messages: a hundred thousand unexpected ones, many senders and one receiver, and all ranks to all at
// once. Ranks may outnumber the cores.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/check.hpp"

namespace {

// All messages are sent before the first receive is posted. They are received from both ends of the queue.
void unexpected(const check::Environment& mpi, int messages) {
  if (mpi.rank == 0) {
    std::vector<MPI_Request> requests(static_cast<std::size_t>(messages));
    std::vector<int> values(static_cast<std::size_t>(messages));
    for (int i = 0; i < messages; ++i) {
      const auto at = static_cast<std::size_t>(i);
      values[at] = i * 3;
      CHECK_OK(MPI_Isend(&values[at], 1, MPI_INT, 1, i % 32000, MPI_COMM_WORLD, &requests[at]));
    }
    const int done = 1;
    CHECK_OK(MPI_Send(&done, 1, MPI_INT, 1, 32001, MPI_COMM_WORLD));
    CHECK_OK(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE));
  } else if (mpi.rank == 1) {
    int value = -1;
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 32001, MPI_COMM_WORLD, MPI_STATUS_IGNORE));  // all others have arrived now
    const int from_the_end = 2000;
    for (int n = 0; n < from_the_end; ++n) {  // each receive names one tag, beginning with the last message's
      const int i = messages - 1 - n, first = i % 32000;
      CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, first, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(value, first * 3);  // the earliest message with that tag
    }
    std::vector<char> taken(static_cast<std::size_t>(messages), 0);
    for (int n = 0; n < from_the_end; ++n) taken[static_cast<std::size_t>((messages - 1 - n) % 32000)] = 1;
    for (int i = 0; i < messages; ++i) {
      if (taken[static_cast<std::size_t>(i)] != 0) continue;
      MPI_Status status;
      CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK_EQ(value, i * 3);
      CHECK_EQ(status.MPI_TAG, i % 32000);
    }
  }
}

// Many receives are posted before the first message is sent. They are matched in reverse order of tags.
void many_posted(const check::Environment& mpi) {
  constexpr int kMessages = 5000;
  if (mpi.rank > 1) return;
  std::vector<MPI_Request> requests(kMessages);
  std::vector<int> values(kMessages, -1);
  if (mpi.rank == 1) {
    for (int i = 0; i < kMessages; ++i) {
      const auto at = static_cast<std::size_t>(i);
      CHECK_OK(MPI_Irecv(&values[at], 1, MPI_INT, i % 7 == 0 ? MPI_ANY_SOURCE : 0, i, MPI_COMM_WORLD, &requests[at]));
    }
    CHECK_OK(MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD));
    CHECK_OK(MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < kMessages; ++i) CHECK_EQ(values[static_cast<std::size_t>(i)], i);
  } else {
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = kMessages - 1; i >= 0; --i) CHECK_OK(MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD));
  }
}

void many_to_one(const check::Environment& mpi) {
  constexpr int kMessages = 3000;
  struct Payload {
    int rank, index;
    char rest[200];
  };
  const auto bytes = [](int index) { return index % 5 == 0 ? static_cast<int>(sizeof(Payload)) : 8; };
  if (mpi.rank != 0) {
    Payload payload{};
    payload.rank = mpi.rank;
    for (payload.index = 0; payload.index < kMessages; ++payload.index) {
      std::memset(payload.rest, payload.index & 127, sizeof payload.rest);
      CHECK_OK(MPI_Send(&payload, bytes(payload.index), MPI_BYTE, 0, 5, MPI_COMM_WORLD));
    }
    return;
  }
  std::vector<int> next(static_cast<std::size_t>(mpi.size), 0);
  for (int n = 0; n < kMessages * (mpi.size - 1); ++n) {
    Payload payload{};
    MPI_Status status;
    CHECK_OK(MPI_Recv(&payload, sizeof payload, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
    CHECK_EQ(payload.rank, status.MPI_SOURCE);
    CHECK_EQ(payload.index, next[static_cast<std::size_t>(payload.rank)]++);
    int count = 0;
    CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, bytes(payload.index));
    if (count > 8) CHECK_EQ(payload.rest[199], payload.index & 127);
  }
}

void all_pairs(const check::Environment& mpi) {
  for (const int length : {1, 1000, 30000, 200000}) {
    const auto elements = static_cast<std::size_t>(length);
    std::vector<int> out(elements * static_cast<std::size_t>(mpi.size)), in(out.size(), -1);
    std::vector<MPI_Request> requests;
    for (int peer = 0; peer < mpi.size; ++peer) {
      const std::size_t from = elements * static_cast<std::size_t>(peer);
      for (std::size_t i = 0; i < elements; ++i) out[from + i] = mpi.rank * 1000 + peer + static_cast<int>(i);
      requests.emplace_back();
      CHECK_OK(MPI_Irecv(&in[from], length, MPI_INT, peer, 6, MPI_COMM_WORLD, &requests.back()));
    }
    for (int step = 0; step < mpi.size; ++step) {
      const int peer = (mpi.rank + step) % mpi.size;
      requests.emplace_back();
      CHECK_OK(MPI_Isend(&out[elements * static_cast<std::size_t>(peer)], length, MPI_INT, peer, 6, MPI_COMM_WORLD,
                         &requests.back()));
    }
    CHECK_OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (int peer = 0; peer < mpi.size; ++peer) {
      for (std::size_t i = 0; i < elements; ++i) {
        CHECK_EQ(in[elements * static_cast<std::size_t>(peer) + i], peer * 1000 + mpi.rank + static_cast<int>(i));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  unexpected(mpi, argc > 1 ? std::atoi(argv[1]) : 100000);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  many_posted(mpi);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  many_to_one(mpi);
  all_pairs(mpi);
}

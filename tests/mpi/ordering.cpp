// Messages between two ranks on one communicator arrive in the order in which they were sent (section 3.5), whatever
// their sizes, protocols, tags and wildcards.
#include <numeric>
#include <random>
#include <vector>

#include "common/check.hpp"

namespace {

// A series of small numbered messages, sent with blocking calls.
void small_stream(const check::Environment& mpi) {
  constexpr int kMessages = 20000;
  for (int i = 0; i < kMessages; ++i) {
    if (mpi.rank == 0) {
      CHECK_OK(MPI_Send(&i, 1, MPI_INT, 1, i % 5, MPI_COMM_WORLD));
    } else if (mpi.rank == 1) {
      int value = -1;
      MPI_Status status;
      CHECK_OK(MPI_Recv(&value, 1, MPI_INT, i % 2 == 0 ? MPI_ANY_SOURCE : 0, i % 3 == 0 ? MPI_ANY_TAG : i % 5,
                        MPI_COMM_WORLD, &status));
      CHECK_EQ(value, i);
      CHECK_EQ(status.MPI_SOURCE, 0);
      CHECK_EQ(status.MPI_TAG, i % 5);
    }
  }
}

// Messages with sizes that use different protocols, all with the same tag: each receive must get the next message.
void mixed_sizes(const check::Environment& mpi) {
  constexpr int kMessages = 600;
  std::mt19937 random(11);
  std::vector<int> lengths;
  for (int i = 0; i < kMessages; ++i) {
    const int bits = static_cast<int>(random() % 19);
    lengths.push_back(1 + static_cast<int>(random() % (1u << bits)));
  }
  const int window = 30;
  std::vector<std::vector<int>> data(window);
  std::vector<MPI_Request> requests(window);
  for (int first = 0; first < kMessages; first += window) {
    for (int w = 0; w < window; ++w) {
      const int i = first + w;
      auto& message = data[static_cast<std::size_t>(w)];
      message.assign(static_cast<std::size_t>(lengths[static_cast<std::size_t>(i)]), -1);
      if (mpi.rank == 0) {
        std::iota(message.begin(), message.end(), i * 7);
        CHECK_OK(MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_INT, 1, 9, MPI_COMM_WORLD,
                           &requests[static_cast<std::size_t>(w)]));
      } else if (mpi.rank == 1) {
        CHECK_OK(MPI_Irecv(message.data(), static_cast<int>(message.size()), MPI_INT, w % 3 == 0 ? MPI_ANY_SOURCE : 0,
                           w % 4 == 0 ? MPI_ANY_TAG : 9, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(w)]));
      }
    }
    if (mpi.rank > 1) continue;
    std::vector<MPI_Status> statuses(window);
    CHECK_OK(MPI_Waitall(window, requests.data(), statuses.data()));
    if (mpi.rank == 0) continue;
    for (int w = 0; w < window; ++w) {
      int count = 0;
      CHECK_OK(MPI_Get_count(&statuses[static_cast<std::size_t>(w)], MPI_INT, &count));
      CHECK_EQ(count, lengths[static_cast<std::size_t>(first + w)]);
      const auto& message = data[static_cast<std::size_t>(w)];
      for (std::size_t n = 0; n < message.size(); ++n) CHECK_EQ(message[n], (first + w) * 7 + static_cast<int>(n));
    }
  }
}

// Later tags are received first: the earlier messages wait as unexpected ones, and keep their order.
void tags_out_of_order(const check::Environment& mpi) {
  constexpr int kTags = 50, kEach = 20;
  if (mpi.rank == 0) {
    for (int tag = 0; tag < kTags; ++tag) {
      for (int i = 0; i < kEach; ++i) {
        const int value[2] = {tag, i};
        CHECK_OK(MPI_Send(value, 2, MPI_INT, 1, tag, MPI_COMM_WORLD));
      }
    }
  } else if (mpi.rank == 1) {
    for (int tag = kTags - 1; tag >= 0; --tag) {
      for (int i = 0; i < kEach; ++i) {
        int value[2];
        CHECK_OK(MPI_Recv(value, 2, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(value[0], tag);
        CHECK_EQ(value[1], i);
      }
    }
  }
}

// Posted receives with and without wildcards: a message is received by the first posted receive that matches it.
void posted_order(const check::Environment& mpi) {
  int go = 0;
  if (mpi.rank == 1) {
    int values[4] = {-1, -1, -1, -1};
    MPI_Request requests[4];
    CHECK_OK(MPI_Irecv(&values[0], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Irecv(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]));
    CHECK_OK(MPI_Irecv(&values[2], 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[2]));
    CHECK_OK(MPI_Irecv(&values[3], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[3]));
    CHECK_OK(MPI_Send(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    CHECK_OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(values[1], 100);  // tag 6: the first matching receive has a wildcard
    CHECK_EQ(values[0], 101);  // tag 5: the first posted receive
    CHECK_EQ(values[3], 102);  // tag 5 again: only the last receive remains
    CHECK_EQ(values[2], 103);  // tag 6
  } else if (mpi.rank == 0) {
    CHECK_OK(MPI_Recv(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const int tags[4] = {6, 5, 5, 6};
    for (int i = 0; i < 4; ++i) {
      const int value = 100 + i;
      CHECK_OK(MPI_Send(&value, 1, MPI_INT, 1, tags[i], MPI_COMM_WORLD));
    }
  }
}

// Equal envelopes on two communicators do not match.
void communicators_apart(const check::Environment& mpi) {
  MPI_Comm other;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  if (mpi.rank == 0) {
    const int first = 1, second = 2;
    CHECK_OK(MPI_Send(&first, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
    CHECK_OK(MPI_Send(&second, 1, MPI_INT, 1, 3, other));
  } else if (mpi.rank == 1) {
    int value = 0;
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 2);
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 1);
  }
  CHECK_OK(MPI_Comm_free(&other));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  small_stream(mpi);
  mixed_sizes(mpi);
  tags_out_of_order(mpi);
  posted_order(mpi);
  communicators_apart(mpi);
}

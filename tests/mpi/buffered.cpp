// Buffered sends (section 3.6): they complete before any receive, need no more space than their size and the overhead
// per message, release the buffer, and report an error if it is too small.
#include <vector>

#include "common/check.hpp"

namespace {

void token(int peer, bool send) {
  if (send) {
    CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, peer, 99, MPI_COMM_WORLD));
  } else {
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, peer, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

// A buffer of exactly the size that the standard requires holds exactly this number of messages, repeatedly.
void exact_size(const check::Environment& mpi) {
  constexpr int kMessages = 7, kInts = 5000, kRounds = 20;
  std::vector<int> data(kInts);
  if (mpi.rank == 0) {
    int packed = 0;
    CHECK_OK(MPI_Pack_size(kInts, MPI_INT, MPI_COMM_WORLD, &packed));
    std::vector<char> buffer(static_cast<std::size_t>(kMessages) *
                             static_cast<std::size_t>(packed + MPI_BSEND_OVERHEAD));
    for (int round = 0; round < kRounds; ++round) {
      CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
      for (int m = 0; m < kMessages; ++m) {
        data.assign(kInts, round * 100 + m);
        CHECK_OK(MPI_Bsend(data.data(), kInts, MPI_INT, 1, m, MPI_COMM_WORLD));
      }
      token(1, true);
      void* detached = nullptr;
      int size = 0;
      CHECK_OK(MPI_Buffer_detach(&detached, &size));  // waits until all messages are delivered
      CHECK(detached == buffer.data());
    }
  } else if (mpi.rank == 1) {
    for (int round = 0; round < kRounds; ++round) {
      token(0, false);
      for (int m = kMessages - 1; m >= 0; --m) {
        CHECK_OK(MPI_Recv(data.data(), kInts, MPI_INT, 0, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (const int value : data) CHECK_EQ(value, round * 100 + m);
      }
    }
  }
}

void overflow(const check::Environment& mpi) {
  if (mpi.rank == 0) {
    std::vector<char> buffer(1000 + MPI_BSEND_OVERHEAD), data(100000);
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));  // for errors of calls without a communicator
    CHECK_CLASS(MPI_Bsend(data.data(), 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);  // none attached
    CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
    const int twice = MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    CHECK(twice != MPI_SUCCESS);  // the standard does not define the class
    if (check::headrace()) CHECK_CLASS(twice, MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bsend(data.data(), static_cast<int>(data.size()), MPI_BYTE, 1, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_OK(MPI_Bsend(data.data(), 1000, MPI_BYTE, 1, 2, MPI_COMM_WORLD));  // messages that fit are still sent
    void* detached = nullptr;
    int size = 0;
    CHECK_OK(MPI_Buffer_detach(&detached, &size));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  } else if (mpi.rank == 1) {
    std::vector<char> data(2000);
    MPI_Status status;
    CHECK_OK(MPI_Recv(data.data(), 2000, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_TAG, 2);
  }
}

// Sends a message of a derived type to this process before its receive is posted.
void to_self(const check::Environment& mpi) {
  MPI_Datatype every_other;
  CHECK_OK(MPI_Type_vector(100, 1, 2, MPI_INT, &every_other));
  CHECK_OK(MPI_Type_commit(&every_other));
  std::vector<char> buffer(10000);
  std::vector<int> from(200), to(100, -1);
  for (int i = 0; i < 200; ++i) from[static_cast<std::size_t>(i)] = i;
  CHECK_OK(MPI_Buffer_attach(buffer.data(), 10000));
  CHECK_OK(MPI_Bsend(from.data(), 1, every_other, mpi.rank, 1, MPI_COMM_WORLD));
  from.assign(200, -2);
  CHECK_OK(MPI_Recv(to.data(), 100, MPI_INT, mpi.rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 100; ++i) CHECK_EQ(to[static_cast<std::size_t>(i)], 2 * i);
  void* detached = nullptr;
  int size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &size));
  CHECK_OK(MPI_Type_free(&every_other));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  exact_size(mpi);
  overflow(mpi);
  to_self(mpi);
}

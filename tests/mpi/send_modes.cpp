// The four send modes, blocking and non-blocking: all deliver their messages; a synchronous send completes only once it
// is matched, a ready send finds its receive, and a buffered send completes at once.
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kSizes[] = {0, 1, 63, 64, 1000, 8192, 65536, 300001};

using Blocking = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using NonBlocking = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

unsigned char byte_at(int size, int i) { return static_cast<unsigned char>(i * 13 + size); }

void token(int peer, bool send) {
  if (send) {
    CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, peer, 99, MPI_COMM_WORLD));
  } else {
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, peer, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

// Sends messages of every size with every function; the receive is posted first, as the ready mode requires.
void deliver(const check::Environment& mpi, Blocking blocking, NonBlocking non_blocking) {
  for (const int size : kSizes) {
    std::vector<unsigned char> data(static_cast<std::size_t>(size) + 1, 0xee);
    if (mpi.rank == 1) {
      MPI_Request request;
      CHECK_OK(MPI_Irecv(data.data(), size, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &request));
      token(0, true);
      MPI_Status status;
      CHECK_OK(MPI_Wait(&request, &status));
      int count = -1;
      CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
      CHECK_EQ(count, size);
      for (int i = 0; i < size; ++i) CHECK_EQ(data[static_cast<std::size_t>(i)], byte_at(size, i));
      CHECK_EQ(data[static_cast<std::size_t>(size)], 0xee);
    } else if (mpi.rank == 0) {
      for (int i = 0; i < size; ++i) data[static_cast<std::size_t>(i)] = byte_at(size, i);
      token(1, false);
      if (blocking != nullptr) {
        CHECK_OK(blocking(data.data(), size, MPI_BYTE, 1, 4, MPI_COMM_WORLD));
      } else if (non_blocking != nullptr) {
        MPI_Request request;
        CHECK_OK(non_blocking(data.data(), size, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
    }
  }
}

// The receiver announces its receive with a message before posting it; before that message, the synchronous send must
// not complete.
void synchronous_waits(const check::Environment& mpi) {
  for (const int size : kSizes) {
    std::vector<unsigned char> data(static_cast<std::size_t>(size));
    if (mpi.rank == 0) {
      MPI_Request request;
      CHECK_OK(MPI_Issend(data.data(), size, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &request));
      for (int i = 0; i < 300; ++i) {
        int done = 0;
        CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        CHECK_EQ(done, 0);
      }
      token(1, true);
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (mpi.rank == 1) {
      token(0, false);
      CHECK_OK(MPI_Recv(data.data(), size, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
  }
}

// Blocking synchronous sends return once rank 1 receives their messages; rank 1 checks every value.
void synchronous_blocking(const check::Environment& mpi) {
  for (int round = 0; round < 50; ++round) {
    if (mpi.rank == 0) {
      CHECK_OK(MPI_Ssend(&round, 1, MPI_INT, 1, 4, MPI_COMM_WORLD));
      token(1, true);
    } else if (mpi.rank == 1) {
      int value = -1;
      CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(value, round);
      token(0, false);
    }
  }
}

// Small standard sends between two ranks that both send first must not deadlock (programs rely on that); large ones
// need MPI_Sendrecv.
void crossed_sends(const check::Environment& mpi) {
  if (mpi.rank > 1) return;
  for (int i = 0; i < 1000; ++i) {
    int value = -1;
    CHECK_OK(MPI_Send(&i, 1, MPI_INT, 1 - mpi.rank, 4, MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 1 - mpi.rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, i);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  std::vector<char> buffer(2000000);
  CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  for (const Blocking mode : {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend}) deliver(mpi, mode, nullptr);
  for (const NonBlocking mode : {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend}) deliver(mpi, nullptr, mode);
  synchronous_waits(mpi);
  synchronous_blocking(mpi);
  crossed_sends(mpi);
  void* detached = nullptr;
  int size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &size));
  CHECK(detached == buffer.data());
  CHECK_EQ(size, static_cast<int>(buffer.size()));
}

// Persistent requests (section 3.9): in every mode, started repeatedly, freed while inactive, and started together.
#include <vector>

#include "common/check.hpp"

namespace {

using Init = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

void every_mode(const check::Environment& mpi) {
  std::vector<char> attached(1000000);
  CHECK_OK(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  for (const Init init : {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init}) {
    for (const int length : {0, 1, 500, 40000}) {
      std::vector<int> data(static_cast<std::size_t>(length) + 1, -1);
      MPI_Request request;
      if (mpi.rank == 0) {
        CHECK_OK(init(data.data(), length, MPI_INT, 1, 8, MPI_COMM_WORLD, &request));
      } else {
        CHECK_OK(MPI_Recv_init(data.data(), length, MPI_INT, 0, 8, MPI_COMM_WORLD, &request));
      }
      for (int round = 0; round < 10; ++round) {
        if (mpi.rank == 0) {
          data.assign(data.size(), round + 1);
          CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));  // the receive is posted
          CHECK_OK(MPI_Start(&request));
          CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
          CHECK_OK(MPI_Start(&request));
          CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
          MPI_Status status;
          CHECK_OK(MPI_Wait(&request, &status));
          int count = -1;
          CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
          CHECK_EQ(count, length);
          for (int i = 0; i < length; ++i) CHECK_EQ(data[static_cast<std::size_t>(i)], round + 1);
          CHECK_EQ(data[static_cast<std::size_t>(length)], -1);
        }
        CHECK(request != MPI_REQUEST_NULL);
        // The request is inactive again: a wait returns immediately with an empty status.
        MPI_Status status;
        int done = 0;
        CHECK_OK(MPI_Test(&request, &done, &status));
        CHECK_EQ(done, 1);
        CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
        CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
      }
      CHECK_OK(MPI_Request_free(&request));
      CHECK(request == MPI_REQUEST_NULL);
    }
  }
  void* detached = nullptr;
  int size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &size));
}

// Starts many sends and receives at once; every other receive accepts any source.
void start_all(const check::Environment& mpi) {
  constexpr int kMessages = 32;
  int out[kMessages], in[kMessages];
  MPI_Request requests[2 * kMessages];
  const int peer = 1 - mpi.rank;
  for (int m = 0; m < kMessages; ++m) {
    CHECK_OK(MPI_Recv_init(&in[m], 1, MPI_INT, m % 2 == 0 ? MPI_ANY_SOURCE : peer, m, MPI_COMM_WORLD, &requests[m]));
    CHECK_OK(MPI_Send_init(&out[m], 1, MPI_INT, peer, m, MPI_COMM_WORLD, &requests[kMessages + m]));
  }
  for (int round = 0; round < 50; ++round) {
    for (int m = 0; m < kMessages; ++m) {
      out[m] = mpi.rank * 100000 + round * 100 + m;
      in[m] = -1;
    }
    CHECK_OK(MPI_Startall(2 * kMessages, requests));
    MPI_Status statuses[2 * kMessages];
    CHECK_OK(MPI_Waitall(2 * kMessages, requests, statuses));
    for (int m = 0; m < kMessages; ++m) {
      CHECK_EQ(in[m], peer * 100000 + round * 100 + m);
      CHECK_EQ(statuses[m].MPI_SOURCE, peer);
      CHECK_EQ(statuses[m].MPI_TAG, m);
    }
  }
  for (MPI_Request& request : requests) CHECK_OK(MPI_Request_free(&request));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  if (mpi.rank > 1) return 0;
  every_mode(mpi);
  start_all(mpi);
}

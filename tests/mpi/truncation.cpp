// A message longer than its receive buffer (section 3.2.4) causes MPI_ERR_TRUNCATE. Nothing is written past the end of
// the buffer, and the connection stays usable. Covers every protocol, blocking and non-blocking calls, derived types,
// and arrays of requests.
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kLengths[] = {2, 100, 3000, 20000, 500000};

void check_room(const std::vector<int>& data, int room) {
  for (std::size_t i = static_cast<std::size_t>(room); i < data.size(); ++i) CHECK_EQ(data[i], -1);
}

void blocking(const check::Environment& mpi, bool posted) {
  for (const int length : kLengths) {
    std::vector<int> data(static_cast<std::size_t>(length), mpi.rank == 0 ? 7 : -1);
    if (mpi.rank == 0) {
      if (posted) CHECK_OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Send(data.data(), length, MPI_INT, 1, 1, MPI_COMM_WORLD));
      CHECK_OK(MPI_Send(data.data(), length, MPI_INT, 1, 1, MPI_COMM_WORLD));
      continue;
    }
    const int room = length / 2;
    MPI_Status status;
    if (posted) {
      MPI_Request request;
      CHECK_OK(MPI_Irecv(data.data(), room, MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
      CHECK_OK(MPI_Send(nullptr, 0, MPI_INT, 0, 9, MPI_COMM_WORLD));
      CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
      CHECK(request == MPI_REQUEST_NULL);
    } else {
      CHECK_CLASS(MPI_Recv(data.data(), room, MPI_INT, 0, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    }
    CHECK_EQ(status.MPI_SOURCE, 0);
    CHECK_EQ(status.MPI_TAG, 1);
    check_room(data, room);
    // The next message arrives complete.
    CHECK_OK(MPI_Recv(data.data(), length, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    for (const int value : data) CHECK_EQ(value, 7);
  }
}

// If one of several messages is truncated, its status contains the error, and the others complete.
void among_others(const check::Environment& mpi) {
  for (const int length : kLengths) {
    std::vector<int> data[3];
    MPI_Request requests[3];
    for (int m = 0; m < 3; ++m) {
      data[m].assign(static_cast<std::size_t>(length), mpi.rank == 0 ? m : -1);
      if (mpi.rank == 0) {
        CHECK_OK(MPI_Isend(data[m].data(), length, MPI_INT, 1, m, MPI_COMM_WORLD, &requests[m]));
      } else {
        CHECK_OK(MPI_Irecv(data[m].data(), m == 1 ? 1 : length, MPI_INT, 0, m, MPI_COMM_WORLD, &requests[m]));
      }
    }
    MPI_Status statuses[3];
    if (mpi.rank == 0) {
      CHECK_OK(MPI_Waitall(3, requests, statuses));
      continue;
    }
    int code = MPI_Waitall(3, requests, statuses);
    CHECK_CLASS(code, MPI_ERR_IN_STATUS);
    while (statuses[0].MPI_ERROR == MPI_ERR_PENDING || statuses[2].MPI_ERROR == MPI_ERR_PENDING) {
      CHECK(code != MPI_SUCCESS);  // the standard permits the others to be pending, so this waits for them
      MPI_Status again[3];
      code = MPI_Waitall(3, requests, again);
      for (const int m : {0, 2}) {
        if (statuses[m].MPI_ERROR == MPI_ERR_PENDING) statuses[m].MPI_ERROR = MPI_SUCCESS;
      }
    }
    CHECK_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQ(check::error_class(statuses[1].MPI_ERROR), MPI_ERR_TRUNCATE);
    CHECK_EQ(statuses[2].MPI_ERROR, MPI_SUCCESS);
    check_room(data[1], 1);
    for (const int m : {0, 2}) {
      for (const int value : data[m]) CHECK_EQ(value, m);
    }
  }
}

// A receive into a layout with gaps: the gaps and the memory after the layout do not change.
void derived(const check::Environment& mpi) {
  constexpr int kBlocks = 5000;
  MPI_Datatype every_other;
  CHECK_OK(MPI_Type_vector(kBlocks, 1, 2, MPI_INT, &every_other));
  CHECK_OK(MPI_Type_commit(&every_other));
  if (mpi.rank == 0) {
    const std::vector<int> data(3 * kBlocks, 7);
    CHECK_OK(MPI_Send(data.data(), 3 * kBlocks, MPI_INT, 1, 1, MPI_COMM_WORLD));
  } else {
    std::vector<int> data(4 * kBlocks, -1);
    CHECK_CLASS(MPI_Recv(data.data(), 1, every_other, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    for (int i = 0; i < kBlocks; ++i) CHECK_EQ(data[static_cast<std::size_t>(2 * i + 1)], -1);
    check_room(data, 2 * kBlocks);
  }
  CHECK_OK(MPI_Type_free(&every_other));
}

// Messages to oneself use no transport between processes.
void to_self(const check::Environment& mpi) {
  int out[4] = {1, 2, 3, 4}, in[4] = {-1, -1, -1, -1};
  MPI_Request request;
  CHECK_OK(MPI_Isend(out, 4, MPI_INT, mpi.rank, 1, MPI_COMM_WORLD, &request));
  CHECK_CLASS(MPI_Recv(in, 2, MPI_INT, mpi.rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  CHECK_EQ(in[2], -1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (mpi.rank > 1) return 0;
  blocking(mpi, false);
  blocking(mpi, true);
  among_others(mpi);
  derived(mpi);
  to_self(mpi);
}

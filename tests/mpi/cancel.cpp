// MPI_Cancel of receives (section 3.8.4): either cancelled, which the status says and which leaves no trace, or
// complete.
#include "common/check.hpp"

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  const int left = (mpi.rank + mpi.size - 1) % mpi.size, right = (mpi.rank + 1) % mpi.size;
  for (int round = 0; round < 200; ++round) {
    int cancelled_value = -1, value = -1;
    MPI_Request request;
    MPI_Status status;
    CHECK_OK(MPI_Irecv(&cancelled_value, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL);
    CHECK_OK(MPI_Wait(&request, &status));
    int cancelled = 0;
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);  // nobody has sent since the last barrier
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Sendrecv(&round, 1, MPI_INT, right, 3, &value, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &status));
    CHECK_EQ(value, round);  // went to the later receive
    CHECK_EQ(cancelled_value, -1);
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  // A receive that meets its message at the same time: one of the two, and the message is not lost.
  int value = -1;
  MPI_Request request;
  MPI_Status status;
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, mpi.rank, 4, MPI_COMM_WORLD, &request));
  const int sent = 17;
  CHECK_OK(MPI_Send(&sent, 1, MPI_INT, mpi.rank, 4, MPI_COMM_WORLD));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  int cancelled = 1;
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  if (cancelled != 0) {
    CHECK_EQ(value, -1);
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, mpi.rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  CHECK_EQ(value, 17);

  // A persistent receive may be cancelled and started again.
  CHECK_OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request));
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
  }
  CHECK_OK(MPI_Start(&request));
  CHECK_OK(MPI_Send(&sent, 1, MPI_INT, mpi.rank, 5, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Request_free(&request));
}

// Checks that a communicator works and is isolated: sends a message with a unique value around its ring.
#pragma once

#include "common/check.hpp"

namespace check {

// Every member gets its left neighbor's value; on an intercommunicator, ranks of the two groups are paired.
inline void ring(MPI_Comm comm, int value) {
  int rank = -1;
  int size = 0;
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  CHECK_OK(MPI_Comm_size(comm, &size));
  const int out = value * 1000 + rank;
  int in = -1;
  CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 7, &in, 1, MPI_INT, (rank + size - 1) % size, 7, comm,
                        MPI_STATUS_IGNORE));
  CHECK_EQ(in, value * 1000 + (rank + size - 1) % size);
}

inline int compare(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  CHECK_OK(MPI_Comm_compare(a, b, &result));
  return result;
}

inline int rank_in(MPI_Comm comm) {
  int rank = -1;
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  return rank;
}

inline int size_of(MPI_Comm comm) {
  int size = -1;
  CHECK_OK(MPI_Comm_size(comm, &size));
  return size;
}

inline MPI_Group group_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  CHECK_OK(MPI_Comm_group(comm, &group));
  return group;
}

}  // namespace check

// MPI_Comm_idup: several calls pending at once, completed in any order, during other work.
#include <array>

#include "ring.hpp"

namespace {

void in_any_order(const check::Environment& mpi) {
  constexpr int kCount = 16;
  std::array<MPI_Comm, kCount> comms;
  std::array<MPI_Request, kCount> requests;
  for (int i = 0; i < kCount; ++i) CHECK_OK(MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]));
  if (mpi.rank % 2 == 0) {
    for (int i = kCount - 1; i >= 0; --i) CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  } else {
    CHECK_OK(MPI_Waitall(kCount, requests.data(), MPI_STATUSES_IGNORE));
  }
  for (int i = 0; i < kCount; ++i) {
    CHECK_EQ(check::compare(comms[i], MPI_COMM_WORLD), MPI_CONGRUENT);
    check::ring(comms[i], i);
  }
  // All communicators are used at once: none may receive another's message.
  for (int i = 0; i < kCount; ++i) {
    const int right = (mpi.rank + 1) % mpi.size;
    int out = i;
    CHECK_OK(MPI_Isend(&out, 1, MPI_INT, right, 0, comms[i], &requests[i]));
    CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  }
  for (int i = kCount - 1; i >= 0; --i) {
    int in = -1;
    CHECK_OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE));
    CHECK_EQ(in, i);
    CHECK_OK(MPI_Comm_free(&comms[i]));
  }
}

// Blocking creations and messages while a duplication is pending must not wait for it.
void beside_others(const check::Environment& mpi) {
  MPI_Comm later;
  MPI_Request request;
  if (mpi.rank == 0) check::ring(MPI_COMM_SELF, 1);
  CHECK_OK(MPI_Comm_idup(MPI_COMM_WORLD, &later, &request));
  MPI_Comm now;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &now));
  check::ring(now, 2);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check::ring(later, 3);
  CHECK_OK(MPI_Comm_free(&now));
  CHECK_OK(MPI_Comm_free(&later));
}

void with_info() {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  MPI_Comm comm;
  MPI_Request request;
  CHECK_OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check::ring(comm, 4);
  CHECK_OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  in_any_order(mpi);
  beside_others(mpi);
  with_info();
}

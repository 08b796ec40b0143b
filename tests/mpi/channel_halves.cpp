// Calls that send to one process and receive from another on different channels, and whose send fails: three ranks.
//
// Rank 2 fails before it receives, and rank 1 sends what rank 0 receives. All members set mpi_assert_no_any_tag, and
// consecutive tags have different channels.
#include <mpi-ext.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "common/check.hpp"
#include "common/network.hpp"

namespace {

constexpr int kCount = 200'000;  // not sent eagerly

void check_received(const std::vector<int>& data, int tag) {
  for (const int each : data) CHECK_EQ(each, tag);
}

void call(MPI_Comm comm) {
  std::vector<int> out(kCount, -2), in[3];
  for (auto& each : in) each.assign(kCount, -1);
  MPI_Request requests[2];
  CHECK_OK(MPI_Isendrecv(out.data(), kCount, MPI_INT, 2, 1, in[0].data(), kCount, MPI_INT, 1, 2, comm, &requests[0]));
  CHECK_OK(MPI_Isendrecv_replace(in[1].data(), kCount, MPI_INT, 2, 3, 1, 4, comm, &requests[1]));
  std::thread blocked([&] {
    CHECK_CLASS(MPI_Sendrecv_replace(in[2].data(), kCount, MPI_INT, 2, 5, 1, 6, comm, MPI_STATUS_IGNORE),
                MPIX_ERR_PROC_FAILED);
  });
  // All messages of rank 1 have arrived before rank 2 fails: only the sends are incomplete.
  CHECK_OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  int flag = -1;
  CHECK_OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_Send(nullptr, 0, MPI_INT, 2, 8, MPI_COMM_WORLD));
  MPI_Status statuses[2];
  CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
  for (int i = 0; i < 2; ++i) {
    CHECK_EQ(check::error_class(statuses[i].MPI_ERROR), MPIX_ERR_PROC_FAILED);
    check_received(in[i], 2 * (i + 1));
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  blocked.join();
  check_received(in[2], 6);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  switch (check::world_rank()) {
    case 0:
      call(comm);
      std::_Exit(3);
    case 1:
      for (const int tag : {2, 4, 6}) {
        const std::vector<int> data(kCount, tag);
        CHECK_OK(MPI_Ssend(data.data(), kCount, MPI_INT, 0, tag, comm));
      }
      CHECK_OK(MPI_Send(nullptr, 0, MPI_INT, 0, 7, MPI_COMM_WORLD));
      break;
    default:
      // The connections of all channels are open, so that they are cut as well.
      for (const int tag : {1, 3, 5}) CHECK_OK(MPI_Probe(0, tag, comm, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Recv(nullptr, 0, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      check::cut_network();
  }
  for (;;) ::pause();  // the end of rank 0 ends the job
}

// Persistent messages of a communicator without a stream, started by a stream: refused if a channel of the program's
// threads carries them (HEADRACE_CHANNELS), and the request stays usable; started otherwise. Argument: "refused" or
// "started".
#include <string>

#include "lane.hpp"

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2, MPI_THREAD_MULTIPLE);
  if (!hr::test::select_device()) return 0;
  const bool refused = argc > 1 && std::string(argv[1]) == "refused";
  constexpr int kCount = 20000;
  const streams::Kernels kernels;
  const streams::Lane lane(kernels);
  streams::Buffer from(kCount * sizeof(streams::Word), streams::MemoryKind::kDevice);
  streams::Buffer to(kCount * sizeof(streams::Word), streams::MemoryKind::kDevice);
  MPI_Comm plain = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &plain));
  CHECK_OK(MPI_Comm_set_errhandler(plain, MPI_ERRORS_RETURN));
  MPI_Request requests[2];
  CHECK_OK(MPI_Recv_init(to.get(), kCount, MPI_UINT32_T, lane.previous, 3, plain, &requests[0]));
  CHECK_OK(MPI_Send_init(from.get(), kCount, MPI_UINT32_T, lane.next, 3, plain, &requests[1]));
  for (streams::Word round = 1; round <= 3; ++round) {
    lane.fill(from, round * 100 + static_cast<streams::Word>(lane.rank));
    if (refused) {
      const int code = MPIX_Startall_enqueue(2, requests, lane.comm());
      CHECK_CLASS(code, MPI_ERR_REQUEST);
      CHECK(check::error_text(code).find("HEADRACE_CHANNELS=1") != std::string::npos);
      lane.wait();
      CHECK_OK(MPI_Startall(2, requests));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else {
      CHECK_OK(MPIX_Startall_enqueue(2, requests, lane.comm()));
      CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
      lane.wait();
    }
    streams::expect(to.take<streams::Word>(),
                    streams::counting(kCount, round * 100 + static_cast<streams::Word>(lane.previous)), "a message");
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
  CHECK_OK(MPI_Comm_free(&plain));
  return 0;
}

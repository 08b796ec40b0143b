// The last rank dies while the streams of the others wait for it: by an enqueued receive that names it, by one from any
// rank, by a reduction, in a graph, and by a message or a reduction that was matched before. The streams continue soon,
// the next call returns MPIX_ERR_PROC_FAILED, and the others still reach each other. At its end each says "went on" and
// after how long. Run it with mpiexec --enable-recovery on two ranks or more.
//
//   mpi_streams_dead_peer [receive|any|allreduce|graph|matched|matched_long|reduction|reduction_long] [silent]
//   mpi_streams_dead_peer destroyed
//
// silent: the last rank lives, but does nothing, so the others wait until the job is ended.
// destroyed: matched requests outlive their communicator and its stream, and all ranks wait until the job is ended.
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "lane.hpp"

namespace streams {
namespace {

// Number of seconds that a busy machine may take; a faulty library lets the stream wait forever.
constexpr double kSoon = 10;

void run(const check::Environment& mpi, const std::string& what, bool silent) {
  const Kernels kernels;
  Lane lane(kernels), spare(kernels);
  const int victim = mpi.size - 1;
  constexpr std::size_t kLong = 10000;     // words: a matched message of several blocks
  constexpr std::size_t kLongest = 40000;  // elements of a reduction in the ranks' buffers
  Buffer from(4 * kLongest, MemoryKind::kDevice), to(64, MemoryKind::kDevice),
      long_to(4 * kLongest, MemoryKind::kDevice);
  from.put(counting(kLongest, 1));
  gpu::synchronize();
  MPI_Request matched = MPI_REQUEST_NULL;
  const bool is_long = what == "matched_long";
  const int words = is_long ? kLong : 16;
  if (what == "matched" || is_long) {
    for (int rank = 0; rank < victim; ++rank) {
      if (mpi.rank != rank && mpi.rank != victim) continue;
      CHECK_OK(mpi.rank == victim ? MPI_Send_init(from.get(), words, MPI_UINT32_T, rank, 0, lane.comm(), &matched)
                                  : MPI_Recv_init(is_long ? long_to.get() : to.get(), words, MPI_UINT32_T, victim, 0,
                                                  lane.comm(), &matched));
      CHECK_OK(MPIX_Matchall(1, &matched));
    }
  }
  if (what == "reduction" || what == "reduction_long") {
    const bool longest = what == "reduction_long";
    CHECK_OK(MPI_Allreduce_init(from.get(), longest ? long_to.get() : to.get(), longest ? kLongest : 16, MPI_UINT32_T,
                                MPI_SUM, lane.comm(), MPI_INFO_NULL, &matched));
    CHECK_OK(MPIX_Matchall(1, &matched));
  }
  const auto depend = [&] {
    if (matched != MPI_REQUEST_NULL) {
      CHECK_OK(MPIX_Startall_enqueue(1, &matched, lane.comm()));
      CHECK_OK(MPIX_Wait_enqueue(&matched, MPI_STATUS_IGNORE));
    } else if (what == "receive") {
      CHECK_OK(MPIX_Recv_enqueue(to.get(), 16, MPI_UINT32_T, victim, 0, lane.comm(), MPI_STATUS_IGNORE));
    } else if (what == "any") {
      CHECK_OK(MPIX_Recv_enqueue(to.get(), 16, MPI_UINT32_T, MPI_ANY_SOURCE, 0, lane.comm(), MPI_STATUS_IGNORE));
    } else {
      CHECK_OK(MPIX_Allreduce_enqueue(from.get(), to.get(), 16, MPI_UINT32_T, MPI_SUM, lane.comm()));
    }
    lane.fill(to, 9);  // the stream must continue
  };
  // The last rank dies once the others are ready, and have received everything that it has sent.
  for (int rank = 0; rank < victim; ++rank) {
    if (mpi.rank == rank) CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, victim, 1, MPI_COMM_WORLD));
    if (mpi.rank == victim) CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  if (mpi.rank == victim && silent) CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (mpi.rank == victim) ::kill(::getpid(), SIGKILL);
  std::unique_ptr<Graph> graph;
  if (what == "graph") {
    graph = std::make_unique<Graph>(lane, 2, depend);
    graph->launch();
  } else {
    depend();
  }
  const double begun = MPI_Wtime();
  lane.wait();
  const double passed = MPI_Wtime() - begun;
  if (passed > kSoon) check::fail(__FILE__, __LINE__, "the stream went on late");
  expect(to.take<Word>(), counting(16, 9), "a kernel after an operation that failed");
  CHECK_CLASS(MPIX_Send_enqueue(from.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm()), MPIX_ERR_PROC_FAILED);
  // The other ranks still reach one another.
  const int partner = mpi.rank ^ 1;
  if (partner < victim && mpi.rank < victim) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, partner, 5, spare.comm(), &request));
    CHECK_OK(MPIX_Recv_enqueue(to.get(), 16, MPI_UINT32_T, partner, 5, spare.comm(), MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    spare.wait();
    expect(to.take<Word>(), counting(16, 1), "a message among the others");
  }
  std::printf("went on after %.3f s\n", passed);
  std::fflush(stdout);
}

void outlive_stream() {
  const Kernels kernels;
  Buffer from(64, MemoryKind::kDevice), to(64, MemoryKind::kDevice);
  MPI_Request requests[2];
  {
    const Lane lane(kernels);
    from.put(counting(16, static_cast<Word>(lane.rank)));
    to.put(std::vector<Word>(16, 0xA5A5A5A5u));
    gpu::synchronize();
    CHECK_OK(MPI_Send_init(from.get(), 16, MPI_UINT32_T, lane.next, 0, lane.comm(), &requests[0]));
    CHECK_OK(MPI_Recv_init(to.get(), 16, MPI_UINT32_T, lane.previous, 0, lane.comm(), &requests[1]));
    CHECK_OK(MPIX_Matchall(2, requests));
    CHECK_OK(MPIX_Runall_enqueue(2, requests, lane.comm()));
    lane.wait();
    expect(to.take<Word>(), counting(16, static_cast<Word>(lane.previous)), "a matched message");
  }
  std::printf("destroyed its stream\n");
  std::fflush(stdout);
  CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2, MPI_THREAD_FUNNELED);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (!hr::test::select_device()) return 0;
  if (argc > 1 && std::string(argv[1]) == "destroyed") return streams::outlive_stream(), 0;
  streams::run(mpi, argc > 1 ? argv[1] : "receive", argc > 2);
  return 0;
}

// Latency of operations in streams and graphs, medians of five runs, beside blocking calls. Prints a table; figures are
// of interest on real devices only.
//
//   mpi_streams_latency [--short]
//   mpi_streams_latency --enqueue TIMES     makes only so many of each call, for a count of driver calls
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "lane.hpp"

namespace streams {
namespace {

constexpr int kRuns = 5;

// Returns the median of the slowest rank's microseconds for one of `times` repetitions.
template <class Work>
double median(int times, const Work& work) {
  std::vector<double> all;
  work();  // first uses
  for (int run = 0; run < kRuns; ++run) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const double begun = MPI_Wtime();
    const double host = work();
    double spent = (host > 0 ? host : MPI_Wtime() - begun) / times * 1e6, most = 0;
    CHECK_OK(MPI_Allreduce(&spent, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    all.push_back(most);
  }
  std::nth_element(all.begin(), all.begin() + kRuns / 2, all.end());
  return all[kRuns / 2];
}

class Table {
 public:
  Table(const check::Environment& mpi, bool brief) : mpi_(mpi), repeats_(brief ? 4 : 100), launches_(brief ? 2 : 10) {}

  template <class Work>
  void row(const char* what, int times, const Work& work) const {
    const double found = median(times, work);
    if (mpi_.rank == 0) std::printf("%-52s %10.2f us\n", what, found), std::fflush(stdout);
  }

  // `inside` operations a launch.
  template <class Work>
  void in_graph(const char* what, const Lane& lane, int inside, int per, const Work& work) const {
    const Graph graph(lane, 2, [&] {
      for (int i = 0; i < inside; ++i) work();
    });
    row(what, launches_ * inside * per, [&] {
      for (int i = 0; i < launches_; ++i) graph.launch();
      lane.wait();
      return 0.0;
    });
  }
  template <class Work>
  void enqueued(const char* what, const Lane& lane, int per, const Work& work) const {
    row(what, repeats_ * per, [&] {
      for (int i = 0; i < repeats_; ++i) work();
      lane.wait();
      return 0.0;
    });
  }
  // Only the calls, not the work.
  template <class Work>
  void host(const char* what, const Lane& lane, const Work& work) const {
    const int few = std::min(repeats_, 50);
    row(what, few, [&] {
      const double begun = MPI_Wtime();
      for (int i = 0; i < few; ++i) work();
      const double spent = MPI_Wtime() - begun;
      lane.wait();
      return spent;
    });
  }
  [[nodiscard]] int repeats() const { return repeats_; }

 private:
  const check::Environment& mpi_;
  int repeats_, launches_;
};

void run(const check::Environment& mpi, bool brief) {
  const Kernels kernels;
  const Table table(mpi, brief);
  const std::size_t most = brief ? std::size_t{1} << 20 : std::size_t{64} << 20;
  Buffer from(most, MemoryKind::kDevice), to(most, MemoryKind::kDevice);
  gpu::synchronize();
  const int partner = mpi.rank ^ 1;
  const bool paired = partner < mpi.size && mpi.size > 1;
  const auto hop = [&](const Lane& lane) {
    if (!paired) return;
    const auto send = [&] { CHECK_OK(MPIX_Send_enqueue(from.get(), 8, MPI_BYTE, partner, 0, lane.comm())); };
    const auto receive = [&] {
      CHECK_OK(MPIX_Recv_enqueue(to.get(), 8, MPI_BYTE, partner, 0, lane.comm(), MPI_STATUS_IGNORE));
    };
    lane.rank % 2 == 0 ? send() : receive();
    lane.rank % 2 == 0 ? receive() : send();
  };
  table.row("hop of 8 B, blocking calls", 2 * table.repeats(), [&] {
    for (int i = 0; i < table.repeats() && paired; ++i) {
      if (mpi.rank % 2 == 0) CHECK_OK(MPI_Send(from.get(), 8, MPI_BYTE, partner, 0, MPI_COMM_WORLD));
      CHECK_OK(MPI_Recv(to.get(), 8, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      if (mpi.rank % 2 == 1) CHECK_OK(MPI_Send(from.get(), 8, MPI_BYTE, partner, 0, MPI_COMM_WORLD));
    }
    return 0.0;
  });
  {
    const Lane lane(kernels);
    table.enqueued("hop of 8 B, enqueued", lane, 2, [&] { hop(lane); });
    table.in_graph("hop of 8 B, in a graph", lane, 10, 2, [&] { hop(lane); });
  }
  {
    const Lane lane(kernels);
    table.row("kernel and allreduce 8 B, host synchronises", table.repeats(), [&] {
      for (int i = 0; i < table.repeats(); ++i) {
        lane.fill(from, 1, 0, 0, 2);
        lane.wait();
        CHECK_OK(MPI_Allreduce(from.get(), to.get(), 2, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
      }
      return 0.0;
    });
  }
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20, std::size_t{64} << 20}) {
    if (bytes > most) continue;
    const Lane lane(kernels);
    const auto work = [&] {
      lane.fill(from, 1, 0, 0, 2);
      CHECK_OK(MPIX_Allreduce_enqueue(from.get(), to.get(), static_cast<int>(bytes / 4), MPI_UINT32_T, MPI_SUM,
                                      lane.comm()));
    };
    const std::string name = "kernel and allreduce " + std::to_string(bytes) + " B, ";
    table.enqueued((name + "enqueued").c_str(), lane, 1, work);
    table.in_graph((name + "in a graph").c_str(), lane, 10, 1, work);
  }
  {
    const Lane lane(kernels);
    table.host("host time of MPIX_Send_enqueue and MPIX_Recv_enqueue", lane, [&] { hop(lane); });
    table.host("host time of MPIX_Allreduce_enqueue", lane,
               [&] { CHECK_OK(MPIX_Allreduce_enqueue(from.get(), to.get(), 2, MPI_UINT32_T, MPI_SUM, lane.comm())); });
  }
}

// The same buffers in every call, as in a program's main loop. The streams are waited for seldom.
void enqueue(const check::Environment& mpi, int times) {
  const Kernels kernels;
  const Lane lane(kernels);
  Buffer from(4096, MemoryKind::kDevice), to(4096, MemoryKind::kDevice), sum(4096, MemoryKind::kDevice);
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < times; ++i) {
    CHECK_OK(MPIX_Isend_enqueue(from.get(), 8, MPI_BYTE, lane.next, 0, lane.comm(), &request));
    CHECK_OK(MPIX_Recv_enqueue(to.get(), 8, MPI_BYTE, lane.previous, 0, lane.comm(), MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Allreduce_enqueue(from.get(), sum.get(), 2, MPI_UINT32_T, MPI_SUM, lane.comm()));
  }
  lane.wait();
  if (mpi.rank == 0) std::printf("%d times 4 calls\n", times);
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_FUNNELED);
  if (!hr::test::select_device()) return 0;
  if (mpi.rank == 0)
    std::printf("%d ranks, %d devices, %s\n", mpi.size, gpu::device_count(), gpu::device_name().c_str());
  if (argc > 2 && std::strcmp(argv[1], "--enqueue") == 0) {
    streams::enqueue(mpi, std::atoi(argv[2]));
    return 0;
  }
  streams::run(mpi, argc > 1 && std::strcmp(argv[1], "--short") == 0);
  return 0;
}

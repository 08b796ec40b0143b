// Latency of operations in streams and graphs, medians of five runs, compared with blocking calls. Prints a table;
// figures are of interest on real devices only. The last columns count, since the previous row, the operations of this
// rank that the library's thread executed, and the starts that its streams execute alone. In a graph, such a start
// counts when it is captured.
//
//   mpi_streams_latency [--short] [--only-matched|--only-general]
//   mpi_streams_latency --enqueue|--matched|--reduced|--at-once TIMES     makes only this number of each call, for a
//   count of driver calls
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../variable.hpp"
#include "lane.hpp"

namespace streams {
namespace {

constexpr int kRuns = 5;

// Returns the median of the slowest rank's time per repetition, in microseconds, with `times` repetitions per run.
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
  Table(const check::Environment& mpi, bool brief) : mpi_(mpi), repeats_(brief ? 4 : 100), launches_(brief ? 2 : 8) {}

  void head() const {
    if (mpi_.rank == 0) std::printf("%-52s %13s  %6s %6s\n", "", "median", "host", "stream");
  }
  template <class Work>
  void row(const char* what, int times, const Work& work) const {
    const double found = median(times, work);
    if (mpi_.rank != 0) return;
    std::printf("%-52s %10.2f us  %6llu %6llu\n", what, found, done_.take(), by_streams_.take());
    std::fflush(stdout);
  }

  // Measures a graph with `inside` operations per launch.
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
  // Measures only the calls, not the work.
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
  mutable hr::test::Variable done_{"HEADRACE_ENQUEUED_DONE"}, by_streams_{"HEADRACE_ENQUEUED_BY_STREAMS"};
};

// A send and a receive of persistent requests, which MPIX_Matchall has matched.
class Matched {
 public:
  Matched(const Lane& lane, int bytes, const Buffer& from, int next, const Buffer& to, int previous) : lane_(lane) {
    CHECK_OK(MPI_Send_init(from.get(), bytes, MPI_BYTE, next, 0, lane.comm(), &requests_[0]));
    CHECK_OK(MPI_Recv_init(to.get(), bytes, MPI_BYTE, previous, 0, lane.comm(), &requests_[1]));
    CHECK_OK(MPIX_Matchall(2, requests_));
  }
  ~Matched() {
    for (MPI_Request& each : requests_) CHECK_OK(MPI_Request_free(&each));
  }
  Matched(const Matched&) = delete;
  Matched& operator=(const Matched&) = delete;

  void send() { run(0, 1); }
  void at_once() { CHECK_OK(MPIX_Runall_enqueue(2, requests_, lane_.comm())); }
  void receive() { run(1, 1); }
  void both() { run(0, 2); }

 private:
  void run(int first, int count) {
    CHECK_OK(MPIX_Startall_enqueue(count, requests_ + first, lane_.comm()));
    CHECK_OK(MPIX_Waitall_enqueue(count, requests_ + first, MPI_STATUSES_IGNORE));
  }

  const Lane& lane_;
  MPI_Request requests_[2];
};

void matched_hop(const Table& table, const Kernels& kernels, int partner, int bytes, const Buffer& from,
                 const Buffer& to) {
  const Lane lane(kernels);
  Matched matched(lane, bytes, from, partner, to, partner);
  const auto hop = [&] {
    lane.rank % 2 == 0 ? matched.send() : matched.receive();
    lane.rank % 2 == 0 ? matched.receive() : matched.send();
  };
  const auto with_kernel = [&] {
    if (lane.rank % 2 == 1) matched.receive();
    lane.fill(from, 1, 0, 0, 2);
    matched.send();
    if (lane.rank % 2 == 0) matched.receive();
  };
  const std::string what = " of " + std::to_string(bytes) + " B, matched, ";
  table.enqueued(("hop" + what + "enqueued").c_str(), lane, 2, hop);
  table.in_graph(("hop" + what + "in a graph").c_str(), lane, 10, 2, hop);
  if (bytes != 8) return;
  table.enqueued(("kernel and hop" + what + "enqueued").c_str(), lane, 2, with_kernel);
  table.in_graph(("kernel and hop" + what + "in a graph").c_str(), lane, 10, 2, with_kernel);
  table.host("host time of a start and a wait, matched, both ways", lane, hop);
}

void matched_ring(const Table& table, const Kernels& kernels, int bytes, const Buffer& from, const Buffer& to) {
  const Lane lane(kernels);
  Matched matched(lane, bytes, from, lane.next, to, lane.previous);
  const auto ring = [&] {
    lane.fill(from, 1, 0, 0, 2);
    matched.both();
  };
  const auto at_once = [&] {
    lane.fill(from, 1, 0, 0, 2);
    matched.at_once();
  };
  const std::string what = "kernel and ring of " + std::to_string(bytes) + " B, matched, ";
  table.enqueued((what + "enqueued").c_str(), lane, 1, ring);
  table.in_graph((what + "in a graph").c_str(), lane, 10, 1, ring);
  table.enqueued((what + "at once, enqueued").c_str(), lane, 1, at_once);
  table.in_graph((what + "at once, in a graph").c_str(), lane, 10, 1, at_once);
  if (bytes == 8) table.host("host time of start and wait at once, matched, ring", lane, [&] { matched.at_once(); });
}

void matched_allreduce(const Table& table, const Kernels& kernels, int bytes, const Buffer& from, const Buffer& to) {
  const Lane lane(kernels);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(
      MPI_Allreduce_init(from.get(), to.get(), bytes / 4, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL, &request));
  CHECK_OK(MPIX_Matchall(1, &request));
  const auto alone = [&] {
    CHECK_OK(MPIX_Startall_enqueue(1, &request, lane.comm()));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  };
  const auto after_a_kernel = [&] {
    lane.fill(from, 1, 0, 0, 2);
    alone();
  };
  const auto at_once = [&] { CHECK_OK(MPIX_Runall_enqueue(1, &request, lane.comm())); };
  const auto kernel_at_once = [&] {
    lane.fill(from, 1, 0, 0, 2);
    at_once();
  };
  const std::string what = "allreduce of " + std::to_string(bytes) + " B, matched, ";
  table.enqueued(("kernel and " + what + "enqueued").c_str(), lane, 1, after_a_kernel);
  table.in_graph(("kernel and " + what + "in a graph").c_str(), lane, 10, 1, after_a_kernel);
  table.enqueued(("kernel and " + what + "at once, enqueued").c_str(), lane, 1, kernel_at_once);
  table.in_graph(("kernel and " + what + "at once, in a graph").c_str(), lane, 10, 1, kernel_at_once);
  if (bytes == 8) {
    table.in_graph((what + "in a graph").c_str(), lane, 10, 1, alone);
    table.host("host time of a start and a wait, allreduce, matched", lane, alone);
    table.host("host time of both at once, allreduce, matched", lane, at_once);
  }
  CHECK_OK(MPI_Request_free(&request));
}

// Bytes are those of the larger buffer, as in bench/nccl.py.
struct MatchedMove {
  const char* name;
  int blocks;  // of the larger buffer; 0: one for each rank
  int (*init)(const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request);
};
const MatchedMove kMoves[] = {
    {"bcast", 1,
     [](const void*, void* to, int count, MPI_Comm comm, MPI_Request* request) {
       return MPI_Bcast_init(to, count, MPI_UINT32_T, 0, comm, MPI_INFO_NULL, request);
     }},
    {"allgather", 0,
     [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
       return MPI_Allgather_init(from, count, MPI_UINT32_T, to, count, MPI_UINT32_T, comm, MPI_INFO_NULL, request);
     }},
    {"reduce_scatter_block", 0, [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
       return MPI_Reduce_scatter_block_init(from, to, count, MPI_UINT32_T, MPI_SUM, comm, MPI_INFO_NULL, request);
     }}};

void matched_move(const Table& table, const Kernels& kernels, const MatchedMove& move, int bytes, const Buffer& from,
                  const Buffer& to) {
  const Lane lane(kernels);
  MPI_Request request = MPI_REQUEST_NULL;
  const int blocks = move.blocks != 0 ? move.blocks : lane.size;
  CHECK_OK(move.init(from.get(), to.get(), std::max(bytes / 4 / blocks, 1), lane.comm(), &request));
  CHECK_OK(MPIX_Matchall(1, &request));
  const auto after_a_kernel = [&] {
    lane.fill(from, 1, 0, 0, 2);
    CHECK_OK(MPIX_Runall_enqueue(1, &request, lane.comm()));
  };
  // The library's thread executes the operation if kernels do not wait.
  const char* const waits = std::getenv("HEADRACE_STREAM_WAITS");
  const bool by_streams = lane.size <= gpu::device_count() && (waits == nullptr || std::strcmp(waits, "kernel") == 0);
  const std::string what = std::string("kernel and ") + move.name + " of " + std::to_string(bytes) + " B, " +
                           (by_streams ? "matched, " : "");
  table.enqueued((what + "enqueued").c_str(), lane, 1, after_a_kernel);
  table.in_graph((what + "in a graph").c_str(), lane, 10, 1, after_a_kernel);
  CHECK_OK(MPI_Request_free(&request));
}

// Measures the parts of the operations, with calls of the driver only.
void bare(const Table& table, const Kernels& kernels) {
  constexpr int kCanFlush = 98;  // the device's attribute
  constexpr unsigned kFlush = 1U << 30;
  const Lane lane(kernels);
  Buffer word(64, MemoryKind::kDevice), data(64, MemoryKind::kDevice);
  word.put(std::vector<Word>(16, 1));
  gpu::synchronize();
  const auto kernel = [&] { lane.fill(data, 1, 0, 0, 2); };
  auto* const wait = driver<int(gpu::Stream, unsigned long long, std::uint32_t, unsigned)>("cuStreamWaitValue32_v2");
  const auto with_wait = [&](unsigned flags) {
    kernel();
    gpu::check(wait(lane.stream(), reinterpret_cast<std::uintptr_t>(word.get()), 1, flags), "cuStreamWaitValue32");
  };
  int can_flush = 0;
  gpu::check(driver<int(int*, int, int)>("cuDeviceGetAttribute")(&can_flush, kCanFlush, gpu::device()),
             "cuDeviceGetAttribute");
  table.in_graph("a kernel alone, in a graph", lane, 10, 1, kernel);
  table.in_graph("a kernel and a wait that is over, in a graph", lane, 10, 1, [&] { with_wait(0); });
  if (can_flush != 0)
    table.in_graph("a kernel and such a wait with a flush, in a graph", lane, 10, 1, [&] { with_wait(kFlush); });
}

// `most`: maximum number of bytes of a buffer of a collective operation.
void matched(const check::Environment& mpi, const Table& table, const Kernels& kernels, std::size_t most,
             const Buffer& from, const Buffer& to) {
  const int partner = mpi.rank ^ 1;
  for (const int bytes : {8, 1024, 8192, 32768, 262144, 1048576}) {
    if (partner < mpi.size && mpi.size > 1) matched_hop(table, kernels, partner, bytes, from, to);
  }
  for (const int bytes : {8, 32768}) matched_ring(table, kernels, bytes, from, to);
  for (const int bytes : {8, 1024, 8192, 65536, 1 << 20, 16 << 20, 64 << 20}) {
    if (static_cast<std::size_t>(bytes) <= most) matched_allreduce(table, kernels, bytes, from, to);
  }
  for (const MatchedMove& move : kMoves) {
    for (const int bytes : {8, 65536, 1 << 20, 16 << 20, 64 << 20}) {
      if (static_cast<std::size_t>(bytes) <= most && mpi.size > 1) matched_move(table, kernels, move, bytes, from, to);
    }
  }
}

void run(const check::Environment& mpi, bool brief, bool only_matched, bool only_general) {
  const Kernels kernels;
  const Table table(mpi, brief);
  // A long vector takes a tenth of a second between hosts.
  const std::size_t most = std::size_t{1} << (brief || !check::one_host() ? 20 : 26);
  Buffer from(most, MemoryKind::kDevice), to(most, MemoryKind::kDevice);
  gpu::synchronize();
  table.head();
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
  if (!only_matched)
    table.row("hop of 8 B, blocking calls", 2 * table.repeats(), [&] {
      for (int i = 0; i < table.repeats() && paired; ++i) {
        if (mpi.rank % 2 == 0) CHECK_OK(MPI_Send(from.get(), 8, MPI_BYTE, partner, 0, MPI_COMM_WORLD));
        CHECK_OK(MPI_Recv(to.get(), 8, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (mpi.rank % 2 == 1) CHECK_OK(MPI_Send(from.get(), 8, MPI_BYTE, partner, 0, MPI_COMM_WORLD));
      }
      return 0.0;
    });
  if (!only_matched) {
    const Lane lane(kernels);
    table.enqueued("hop of 8 B, enqueued", lane, 2, [&] { hop(lane); });
    table.in_graph("hop of 8 B, in a graph", lane, 10, 2, [&] { hop(lane); });
  }
  // Blocks that wait for each other are slow on few cores.
  if (!only_general) matched(mpi, table, kernels, brief ? std::size_t{1} << 17 : most, from, to);
  if (only_matched) return;
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
  if (!only_general) bare(table, kernels);
}

// Uses the same buffers in every call, as in a program's main loop. The stream begins with a wait for the host, so that
// no operation is complete when the stream must wait for it.
template <class Work>
void enqueue(const check::Environment& mpi, int times, const Lane& lane, const Work& work) {
  constexpr int kGate = 99;
  Buffer gate(4096, MemoryKind::kDevice);
  const Word open = 1;
  MPI_Request opens = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Send_init(&open, 1, MPI_UINT32_T, lane.rank, kGate, lane.comm(), &opens));
  CHECK_OK(MPIX_Recv_enqueue(gate.get(), 1, MPI_UINT32_T, lane.rank, kGate, lane.comm(), MPI_STATUS_IGNORE));
  for (int i = 0; i < times; ++i) work();
  CHECK_OK(MPI_Start(&opens));
  CHECK_OK(MPI_Wait(&opens, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Request_free(&opens));
  lane.wait();
  if (mpi.rank == 0) std::printf("%d times\n", times);
}

void enqueue(const check::Environment& mpi, const std::string& what, int times) {
  const Kernels kernels;
  const Lane lane(kernels);
  Buffer from(4096, MemoryKind::kDevice), to(4096, MemoryKind::kDevice), sum(4096, MemoryKind::kDevice);
  MPI_Request requests[2];
  if (what == "--enqueue") {
    return enqueue(mpi, times, lane, [&] {
      CHECK_OK(MPIX_Isend_enqueue(from.get(), 8, MPI_BYTE, lane.next, 0, lane.comm(), &requests[0]));
      CHECK_OK(MPIX_Irecv_enqueue(to.get(), 8, MPI_BYTE, lane.previous, 0, lane.comm(), &requests[1]));
      CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
      CHECK_OK(MPIX_Allreduce_enqueue(from.get(), sum.get(), 2, MPI_UINT32_T, MPI_SUM, lane.comm()));
    });
  }
  if (what == "--reduced" || what == "--at-once") {
    CHECK_OK(
        MPI_Allreduce_init(from.get(), sum.get(), 2, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL, &requests[0]));
    CHECK_OK(MPIX_Matchall(1, requests));
    enqueue(mpi, times, lane, [&] {
      if (what == "--at-once") {
        CHECK_OK(MPIX_Runall_enqueue(1, requests, lane.comm()));
        return;
      }
      CHECK_OK(MPIX_Startall_enqueue(1, requests, lane.comm()));
      CHECK_OK(MPIX_Waitall_enqueue(1, requests, MPI_STATUSES_IGNORE));
    });
    CHECK_OK(MPI_Request_free(&requests[0]));
    return;
  }
  CHECK_OK(MPI_Send_init(from.get(), 8, MPI_BYTE, lane.next, 0, lane.comm(), &requests[0]));
  CHECK_OK(MPI_Recv_init(to.get(), 8, MPI_BYTE, lane.previous, 0, lane.comm(), &requests[1]));
  CHECK_OK(MPIX_Matchall(2, requests));
  enqueue(mpi, times, lane, [&] {
    CHECK_OK(MPIX_Startall_enqueue(2, requests, lane.comm()));
    CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
  });
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_FUNNELED);
  if (!hr::test::select_device()) return 0;
  if (mpi.rank == 0)
    std::printf("%d ranks, %d devices, %s\n", mpi.size, gpu::device_count(), gpu::device_name().c_str());
  if (argc > 2 && argv[2][0] != '-') {
    streams::enqueue(mpi, argv[1], std::atoi(argv[2]));
    return 0;
  }
  const auto has = [&](const char* option) {
    return std::any_of(argv + 1, argv + argc, [&](const char* each) { return std::strcmp(each, option) == 0; });
  };
  streams::run(mpi, has("--short"), has("--only-matched"), has("--only-general"));
  return 0;
}

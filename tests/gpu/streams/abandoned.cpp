// Captures that end without a graph. Nothing of what was enqueued in them runs, and its requests can be started again.
#include <string>

#include "parts.hpp"

namespace streams {
namespace {

constexpr std::size_t kCount = 1000;
constexpr int kElements = static_cast<int>(kCount);
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr int kRequests = 5;

// Requests that streams execute alone, on devices of one host, and two that the library's thread executes.
class Requests {
 public:
  explicit Requests(const Lane& lane) : lane_(lane) {
    const MPI_Comm comm = lane.comm();
    CHECK_OK(MPI_Send_init(from_.get(), kElements, MPI_UINT32_T, lane.next, 1, comm, &all_[0]));
    CHECK_OK(MPI_Recv_init(to_.get(), kElements, MPI_UINT32_T, lane.previous, 1, comm, &all_[1]));
    CHECK_OK(
        MPI_Allreduce_init(from_.get(), sum_.get(), kElements, MPI_UINT32_T, MPI_SUM, comm, MPI_INFO_NULL, &all_[2]));
    CHECK_OK(MPI_Send_init(from_host_.get(), kElements, MPI_UINT32_T, lane.next, 2, comm, &all_[3]));
    CHECK_OK(MPI_Recv_init(to_host_.get(), kElements, MPI_UINT32_T, lane.previous, 2, comm, &all_[4]));
    CHECK_OK(MPIX_Matchall(kRequests, all_));
  }
  ~Requests() {
    for (MPI_Request& each : all_) CHECK_OK(MPI_Request_free(&each));
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  [[nodiscard]] int start() { return MPIX_Startall_enqueue(kRequests, all_, lane_.comm()); }
  [[nodiscard]] int wait() { return MPIX_Waitall_enqueue(kRequests, all_, MPI_STATUSES_IGNORE); }

  void fill(int round) {
    poison(to_);
    poison(to_host_);
    poison(sum_);
    gpu::synchronize();
    lane_.fill(from_, value_of(lane_.rank, round));
    lane_.fill(from_host_, value_of(lane_.rank, round + 1));
  }
  void check(int round, const std::string& what) const {
    lane_.wait();
    std::vector<Word> sum(kCount, 0);
    for (int rank = 0; rank < lane_.size; ++rank) {
      for (std::size_t i = 0; i < kCount; ++i) sum[i] += value_of(rank, round) + static_cast<Word>(i);
    }
    expect(to_.take<Word>(), counting(kCount, value_of(lane_.previous, round)), what + ": a message");
    expect(to_host_.take<Word>(), counting(kCount, value_of(lane_.previous, round + 1)), what + ": a host message");
    expect(sum_.take<Word>(), sum, what + ": a reduction");
  }

 private:
  const Lane& lane_;
  Buffer from_{kBytes, MemoryKind::kDevice}, to_{kBytes, MemoryKind::kDevice}, sum_{kBytes, MemoryKind::kDevice};
  Buffer from_host_{kBytes, MemoryKind::kHostPinned}, to_host_{kBytes, MemoryKind::kHostPinned};
  MPI_Request all_[kRequests];
};

// Captures the work, and spoils the capture with a call that is forbidden meanwhile. Then calls `after`, and ends the
// capture.
template <class Work, class After>
void abandon(const Lane& lane, int mode, const Work& work, const After& after) {
  gpu::check(driver<int(gpu::Stream, int)>("cuStreamBeginCapture_v2")(lane.stream(), mode), "cuStreamBeginCapture");
  work();
  CHECK(driver<int(gpu::Stream)>("cuStreamQuery")(lane.stream()) != 0);
  after();
  void* graph = nullptr;
  CHECK(driver<int(gpu::Stream, void**)>("cuStreamEndCapture")(lane.stream(), &graph) != 0);
  CHECK(graph == nullptr);
}

}  // namespace

void abandoned(const Kernels& kernels) {
  for (int mode = 0; mode < 3; ++mode) {
    const Lane lane(kernels);
    Requests requests(lane);
    Buffer unused(64, MemoryKind::kDevice);
    const auto step = [&] {
      CHECK_OK(requests.start());
      CHECK_OK(requests.wait());
    };
    const auto nothing = [] {};

    // Abandons the capture after a start without a wait, and after a start that failed.
    abandon(lane, mode, [&] { CHECK_OK(requests.start()); }, [&] { CHECK_CLASS(requests.start(), MPI_ERR_OTHER); });
    CHECK_CLASS(requests.wait(), MPI_ERR_REQUEST);
    requests.fill(1);
    step();
    requests.check(1, "after a capture that was abandoned");

    // The next capture sees nothing of the first one.
    abandon(lane, mode, [&] { step(), CHECK_OK(requests.start()); }, nothing);
    const Graph graph(lane, mode, [&] {
      CHECK_CLASS(requests.wait(), MPI_ERR_REQUEST);
      step();
      step();
    });
    requests.fill(2);
    graph.launch();
    requests.check(2, "a graph after a capture that was abandoned");

    // A start before a capture still counts in it.
    requests.fill(3);
    CHECK_OK(requests.start());
    const Graph other(lane, mode, [&] {
      CHECK_CLASS(requests.start(), MPI_ERR_REQUEST);
      lane.fill(unused, 1);
    });
    CHECK_OK(requests.wait());
    requests.check(3, "a start before a capture");
    requests.fill(4);
    graph.launch();
    requests.check(4, "a graph that is launched again");
    abandon(lane, mode, [&] { CHECK_OK(requests.start()); }, nothing);  // and then freed
  }
}

}  // namespace streams

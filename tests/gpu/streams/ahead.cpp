// Launches a graph many times without waiting for it, so that the driver has no space for the next launch: it then
// waits inside the driver, where the library's thread may be kept out.
//
//   mpi_streams_ahead matched|mixed [LAUNCHES]
//
// matched: messages and reductions that streams execute alone, which need no thread, so every launch ends. mixed: also
// a reduction that the library's thread executes; with a full queue it may never end.
#include <cstdlib>
#include <cstring>

#include "lane.hpp"

namespace streams {
namespace {

void run(bool mixed, int launches) {
  const Kernels kernels;
  const Lane lane(kernels);
  constexpr std::size_t kCounts[] = {2, 1000, 20000, 200000};  // words: lines, slots, and several blocks
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<MPI_Request> requests;
  const auto buffer = [&](std::size_t count) {
    buffers.push_back(std::make_unique<Buffer>(count * sizeof(Word), MemoryKind::kDevice));
    buffers.back()->put(counting(count, static_cast<Word>(lane.rank)));
    return buffers.back()->get();
  };
  for (const std::size_t count : kCounts) {
    const int words = static_cast<int>(count);
    requests.resize(requests.size() + 2);
    CHECK_OK(MPI_Send_init(buffer(count), words, MPI_UINT32_T, lane.next, words, lane.comm(), &requests.end()[-2]));
    CHECK_OK(MPI_Recv_init(buffer(count), words, MPI_UINT32_T, lane.previous, words, lane.comm(), &requests.end()[-1]));
  }
  Buffer total(64, MemoryKind::kDevice), ones(64, MemoryKind::kDevice), sum(64, MemoryKind::kDevice);
  ones.put(std::vector<Word>(16, 1));
  total.put(std::vector<Word>(16, 0));
  requests.emplace_back();
  CHECK_OK(MPI_Allreduce_init(ones.get(), sum.get(), 16, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL,
                              &requests.back()));
  const int count = static_cast<int>(requests.size());
  CHECK_OK(MPIX_Matchall(count, requests.data()));
  Buffer spare(64, MemoryKind::kDevice), by_host(64, MemoryKind::kDevice);
  gpu::synchronize();
  {
    const Graph graph(lane, 0, [&] {
      CHECK_OK(MPIX_Startall_enqueue(count, requests.data(), lane.comm()));
      if (mixed) CHECK_OK(MPIX_Allreduce_enqueue(ones.get(), by_host.get(), 16, MPI_UINT32_T, MPI_SUM, lane.comm()));
      CHECK_OK(MPIX_Waitall_enqueue(count, requests.data(), MPI_STATUSES_IGNORE));
      lane.step(total, sum, spare);
    });
    for (int launch = 0; launch < launches; ++launch) graph.launch();
    lane.wait();
  }
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    expect(buffers[2 * i + 1]->take<Word>(), counting(kCounts[i], static_cast<Word>(lane.previous)), "a message");
  expect(total.take<Word>(), std::vector<Word>(16, static_cast<Word>(lane.size * launches)), "sums of all launches");
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2, MPI_THREAD_FUNNELED);
  if (!hr::test::select_device()) return 0;
  streams::run(argc > 1 && std::strcmp(argv[1], "mixed") == 0, argc > 2 ? std::atoi(argv[2]) : 60);
  return 0;
}

// MPI_Finalize while streams have work: it waits for enqueued messages, reductions and matched messages, and for a
// graph that was launched. A graph that is only instantiated does not matter. The data is checked afterwards.
//
//   mpi_streams_at_finalize [never]
//
// never: rank 0 also waits for a message that no rank sends, so MPI_Finalize does not return there.
#include <cstring>

#include "lane.hpp"

namespace streams {
namespace {

constexpr std::size_t kCount = 5000;
constexpr int kElements = static_cast<int>(kCount);
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr unsigned kSlow = 2000000, kSlower = 40000000;  // the graph is the last to come to its messages
constexpr Word kPoison = 0x5A5A5A5Au;

// Everything lives until the end of the process: its owner would free the communicators.
struct Work {
  explicit Work(const Kernels& kernels)
      : messages(kernels), reductions(kernels), matched(kernels), launched(kernels), idle(kernels), stuck(kernels) {
    for (Buffer& each : buffers) each.put(std::vector<Word>(kCount, kPoison));
  }
  Lane messages, reductions, matched, launched, idle, stuck;
  Buffer buffers[10] = {{kBytes, MemoryKind::kDevice},     {kBytes, MemoryKind::kDevice}, {kBytes, MemoryKind::kDevice},
                        {kBytes, MemoryKind::kDevice},     {kBytes, MemoryKind::kDevice}, {kBytes, MemoryKind::kDevice},
                        {kBytes, MemoryKind::kHostPinned}, {kBytes, MemoryKind::kDevice}, {kBytes, MemoryKind::kDevice},
                        {kBytes, MemoryKind::kDevice}};
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::unique_ptr<Graph> graphs[2];
};

// Enqueues an exchange of slowly produced data in a ring.
void exchange(const Lane& lane, const Buffer& from, const Buffer& to, Word first, unsigned spins = kSlow) {
  MPI_Request request = MPI_REQUEST_NULL;
  lane.fill(from, first, spins);
  CHECK_OK(MPIX_Isend_enqueue(from.get(), kElements, MPI_UINT32_T, lane.next, 0, lane.comm(), &request));
  CHECK_OK(MPIX_Recv_enqueue(to.get(), kElements, MPI_UINT32_T, lane.previous, 0, lane.comm(), MPI_STATUS_IGNORE));
  CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
}

void begin(Work& all, bool never) {
  Buffer* const b = all.buffers;
  const int rank = all.messages.rank;
  const auto first = static_cast<Word>(1000 * rank);
  const Lane& matched = all.matched;
  CHECK_OK(MPI_Send_init(b[4].get(), kElements, MPI_UINT32_T, matched.next, 1, matched.comm(), &all.requests[0]));
  CHECK_OK(MPI_Recv_init(b[5].get(), kElements, MPI_UINT32_T, matched.previous, 1, matched.comm(), &all.requests[1]));
  CHECK_OK(MPIX_Matchall(2, all.requests));
  all.graphs[0] =
      std::make_unique<Graph>(all.launched, 0, [&] { exchange(all.launched, b[7], b[8], first + 3, kSlower); });
  all.graphs[1] = std::make_unique<Graph>(all.idle, 0, [&] { exchange(all.idle, b[9], b[6], first + 4); });
  gpu::synchronize();
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  exchange(all.messages, b[0], b[1], first);
  all.reductions.fill(b[2], first + 1, kSlow);
  CHECK_OK(MPIX_Allreduce_enqueue(b[2].get(), b[3].get(), kElements, MPI_UINT32_T, MPI_SUM, all.reductions.comm()));
  matched.fill(b[4], first + 2, kSlow);
  CHECK_OK(MPIX_Startall_enqueue(2, all.requests, matched.comm()));
  CHECK_OK(MPIX_Waitall_enqueue(2, all.requests, MPI_STATUSES_IGNORE));
  all.graphs[0]->launch();
  if (never && rank == 0) {
    CHECK_OK(MPIX_Recv_enqueue(b[6].get(), kElements, MPI_UINT32_T, 1, 7, all.stuck.comm(), MPI_STATUS_IGNORE));
  }
}

void check_data(const Work& all) {
  const Lane& lane = all.messages;
  const auto before = static_cast<Word>(1000 * lane.previous);
  std::vector<Word> sums(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    sums[i] = static_cast<Word>(500 * lane.size * (lane.size - 1)) +
              static_cast<Word>(lane.size) * (1 + static_cast<Word>(i));
  }
  expect(all.buffers[1].take<Word>(), counting(kCount, before), "a message, after MPI_Finalize");
  expect(all.buffers[3].take<Word>(), sums, "a reduction, after MPI_Finalize");
  expect(all.buffers[5].take<Word>(), counting(kCount, before + 2), "a matched message, after MPI_Finalize");
  expect(all.buffers[8].take<Word>(), counting(kCount, before + 3), "a launched graph, after MPI_Finalize");
  expect(all.buffers[9].take<Word>(), std::vector<Word>(kCount, kPoison), "a graph that was not launched");
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  if (!hr::test::select_device()) return MPI_Finalize();
  const bool never = argc > 1 && std::strcmp(argv[1], "never") == 0;
  const auto* const kernels = new streams::Kernels;
  auto* const all = new streams::Work(*kernels);
  streams::begin(*all, never);
  CHECK_OK(MPI_Finalize());
  // Its streams have come to the end of every operation; take() would wait for them otherwise.
  streams::check_data(*all);
  return 0;
}

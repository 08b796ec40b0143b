// Persistent reductions of long vectors that MPIX_Matchall has matched: kernels combine them in the buffers of all
// ranks. Every type and operation, random lengths, in place, in a stream and in graphs; ranks that wait in different
// orders; requests that are freed while a stream works on them.
//
//   mpi_streams_long_allreduce [refused]     refused: the driver does not open the buffers, so the general path is used
#include "../memory_in_use.hpp"
#include "alone.hpp"
#include "reduction.hpp"

namespace streams {
namespace {

constexpr std::size_t kShortest = 70000;  // bytes: longer than vectors that go through slots

void start(const Lane& lane, Reduction& one) { CHECK_OK(MPIX_Startall_enqueue(1, &one.request, lane.comm())); }
void wait(Reduction& one) { CHECK_OK(MPIX_Wait_enqueue(&one.request, MPI_STATUS_IGNORE)); }

// In a stream, and in a graph that is launched several times.
void check_both_ways(const Lane& lane, Reduction& one, unsigned seed) {
  CHECK_OK(MPIX_Matchall(1, &one.request));
  const auto run = [&] {
    if (seed % 2 == 0) {
      CHECK_OK(MPIX_Runall_enqueue(1, &one.request, lane.comm()));
      return;
    }
    start(lane, one);
    wait(one);
  };
  const auto round = [&](const char* where, const auto& work) {
    one.put(++seed);
    gpu::synchronize();
    work();
    lane.wait();
    one.check(seed, where);
  };
  round("long, in a stream", run);
  const Graph graph(lane, static_cast<int>(seed % 3), run);
  for (int launch = 0; launch < 2; ++launch) round("long, in a graph", [&] { graph.launch(); });
  round("long, after a graph", run);
}

// Each type and operation, every third one in place, most after an offset, and with lengths that leave ranks or blocks
// without work.
void operations(const Kernels& kernels, bool alone) {
  std::mt19937 random(44);
  unsigned seed = 0;
  for (const Type& type : kTypes) {
    const Lane lane(kernels);
    // A graph uses their buffers until the communicator is freed.
    std::vector<std::unique_ptr<Reduction>> all;
    const bool integer = &type - kTypes < kIntegers;
    for (int op = 0; op < (integer ? 7 : kOfReals); ++op) {
      const std::size_t bytes = kShortest + random() % (op == 0 ? 1 << 20 : 1 << 16);
      const bool by_streams = alone && kernels_wait(lane);
      const Alone watch(by_streams);
      const What what{type, kOps[op], bytes / type.bytes, MemoryKind::kDevice, seed % 3 == 1, seed % 5};
      all.push_back(std::make_unique<Reduction>(lane, what, !by_streams));
      check_both_ways(lane, *all.back(), seed);
      seed += 7;
    }
  }
}

// Ranks wait in different orders, and for messages that others send after their reduction: a wait for a reduction
// depends only on the other ranks' starts.
void orders(const Kernels& kernels) {
  const Lane lane(kernels);
  Reduction first(lane, {kTypes[0], kOps[0], 50001}, true), second(lane, {kTypes[6], kOps[2], 70001}, true);
  Buffer from(64, MemoryKind::kDevice), to(64, MemoryKind::kDevice);
  const bool even = lane.rank % 2 == 0;
  MPI_Request message = MPI_REQUEST_NULL;
  const int partner = lane.rank ^ 1;
  if (partner < lane.size) {
    CHECK_OK(even ? MPI_Recv_init(to.get(), 16, MPI_UINT32_T, partner, 0, lane.comm(), &message)
                  : MPI_Send_init(from.get(), 16, MPI_UINT32_T, partner, 0, lane.comm(), &message));
  }
  MPI_Request all[] = {first.request, second.request, message};
  CHECK_OK(MPIX_Matchall(partner < lane.size ? 3 : 2, all));
  from.put(counting(16, 5));
  for (unsigned seed = 1; seed < 4; ++seed) {
    first.put(seed);
    second.put(seed);
    gpu::synchronize();
    Reduction& early = even ? first : second;
    Reduction& late = even ? second : first;
    if (even && message != MPI_REQUEST_NULL) CHECK_OK(MPIX_Startall_enqueue(1, &message, lane.comm()));
    start(lane, early);
    start(lane, late);
    if (even && message != MPI_REQUEST_NULL) CHECK_OK(MPIX_Wait_enqueue(&message, MPI_STATUS_IGNORE));
    wait(early);
    wait(late);
    if (!even) CHECK_OK(MPIX_Startall_enqueue(1, &message, lane.comm()));
    if (!even) CHECK_OK(MPIX_Wait_enqueue(&message, MPI_STATUS_IGNORE));
    lane.wait();
    first.check(seed, "in another order");
    second.check(seed, "in another order");
  }
  if (message != MPI_REQUEST_NULL) CHECK_OK(MPI_Request_free(&message));
}

// The sum of the previous sums, in 100 launches of a graph. The ranks arrive at different times.
void chain(const Kernels& kernels) {
  constexpr std::size_t kCount = 20011;
  constexpr int kLaunches = 100;
  const Lane lane(kernels);
  Buffer values(kCount * sizeof(Word), MemoryKind::kDevice), spun(64, MemoryKind::kDevice);
  values.put(counting(kCount, static_cast<Word>(lane.rank)));
  gpu::synchronize();
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Allreduce_init(MPI_IN_PLACE, values.get(), kCount, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL,
                              &request));
  CHECK_OK(MPIX_Matchall(1, &request));
  const Graph graph(lane, 1, [&] {
    lane.fill(spun, 1, lane.rank == 0 ? 300 : 0);
    CHECK_OK(MPIX_Startall_enqueue(1, &request, lane.comm()));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  });
  for (int launch = 1; launch <= kLaunches; ++launch) {
    graph.launch();
    if (launch % 8 == 0) lane.wait();
  }
  lane.wait();
  // Words wrap around identically in any order.
  std::vector<Word> wanted(kCount);
  Word times = 1;
  for (int launch = 1; launch < kLaunches; ++launch) times *= static_cast<Word>(lane.size);
  for (std::size_t i = 0; i < kCount; ++i) {
    for (int rank = 0; rank < lane.size; ++rank) wanted[i] += static_cast<Word>(rank) + static_cast<Word>(i);
    wanted[i] *= times;
  }
  expect(values.take<Word>(), wanted, "a sum of sums");
  CHECK_OK(MPI_Request_free(&request));
}

// Request and communicator are freed right after the launch of a graph.
void left_early(const Kernels& kernels) {
  constexpr std::size_t kCount = 30001;
  Buffer values(kCount * sizeof(Word), MemoryKind::kDevice), spun(64, MemoryKind::kDevice);
  values.put(counting(kCount, 1));
  gpu::synchronize();
  int size = 0;
  {
    const Lane lane(kernels);
    size = lane.size;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Allreduce_init(MPI_IN_PLACE, values.get(), kCount, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL,
                                &request));
    CHECK_OK(MPIX_Matchall(1, &request));
    const Graph graph(lane, 2, [&] {
      lane.fill(spun, 1, 20000);
      CHECK_OK(MPIX_Startall_enqueue(1, &request, lane.comm()));
      CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    });
    // MPI waits for graphs only if they contain such kernels.
    graph.launch();
    if (!kernels_wait(lane)) lane.wait();
    CHECK_OK(MPI_Request_free(&request));
  }
  gpu::synchronize();
  std::vector<Word> wanted = counting(kCount, 1);
  for (Word& each : wanted) each *= static_cast<Word>(size);
  expect(values.take<Word>(), wanted, "a sum whose communicator was freed early");
}

// A request that a graph of one stream contains is started in another stream, and freed; then that stream's
// communicator is freed. The graph still executes the reduction.
void kept_for_graph(const Kernels& kernels) {
  constexpr std::size_t kCount = 30001;
  const Lane lane(kernels);
  Buffer values(kCount * sizeof(Word), MemoryKind::kDevice);
  values.put(counting(kCount, 1));
  gpu::synchronize();
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Allreduce_init(MPI_IN_PLACE, values.get(), kCount, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL,
                              &request));
  CHECK_OK(MPIX_Matchall(1, &request));
  const Graph graph(lane, 1, [&] { CHECK_OK(MPIX_Runall_enqueue(1, &request, lane.comm())); });
  {
    const Lane other(kernels);
    CHECK_OK(MPIX_Runall_enqueue(1, &request, other.comm()));
    other.wait();
    CHECK_OK(MPI_Request_free(&request));
  }
  graph.launch();
  lane.wait();
  std::vector<Word> wanted = counting(kCount, 1);
  for (Word& each : wanted) each *= static_cast<Word>(lane.size) * static_cast<Word>(lane.size);
  expect(values.take<Word>(), wanted, "a graph after the communicator of another stream was freed");
}

// Requests are freed while the stream works on them, their buffers soon after, and others replace them.
void freed(const Kernels& kernels) {
  constexpr int kRounds = 12;
  const Lane lane(kernels);
  std::uint64_t before = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    auto one =
        std::make_unique<Reduction>(lane, What{kTypes[0], kOps[0], 100003, MemoryKind::kDevice, round % 2 == 1}, true);
    CHECK_OK(MPIX_Matchall(1, &one->request));
    one->put(round);
    gpu::synchronize();
    start(lane, *one);
    wait(*one);
    CHECK_OK(MPI_Request_free(&one->request));
    lane.wait();
    one->check(round, "freed early");
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    one.reset();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (round == 2) before = hr::test::memory_in_use();
  }
  // The other ranks may or may not have closed the last buffers.
  constexpr std::uint64_t kSome = std::uint64_t{4} << 20;
  if (hr::test::on_fake_driver() && kernels_wait(lane)) CHECK(hr::test::memory_in_use() <= before + kSome);
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_SINGLE);
  if (!hr::test::select_device()) return 0;
  const streams::Kernels kernels;
  const bool refused = argc > 1 && std::strcmp(argv[1], "refused") == 0;
  streams::operations(kernels, !refused);
  if (refused) return 0;
  streams::orders(kernels);
  streams::chain(kernels);
  streams::left_early(kernels);
  streams::kept_for_graph(kernels);
  streams::freed(kernels);
  return 0;
}

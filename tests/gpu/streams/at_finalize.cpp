// MPI_Finalize while streams have work: it waits for enqueued messages, reductions and matched messages, and for a
// graph that was launched. A graph that is only instantiated does not matter. The data is checked afterwards.
//
//   mpi_streams_at_finalize [receive|persistent|partitioned|partitions|send|returned|handled|late FILE]
//
// The last stream of rank 0 also waits for a message that rank 1 neither sends nor receives. Then MPI_Finalize ends it,
// with an error, once rank 1 has left.
// partitions: rank 1 starts a partitioned send, but marks no partition as ready.
// returned: a receive; MPI_Finalize returns the error, and the stream has continued.
// handled: the same, with a handler of the program, which gets the communicator and uses it.
// late: a receive of a message that rank 1 sends once it can read a byte from FILE, a named pipe.
#include <cstdio>
#include <fstream>
#include <string>

#include "lane.hpp"

namespace streams {
namespace {

constexpr std::size_t kCount = 5000;
constexpr int kElements = static_cast<int>(kCount);
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr unsigned kSlow = 2000000, kSlower = 40000000;  // the graph is the last to come to its messages
constexpr Word kPoison = 0x5A5A5A5Au;
constexpr int kLong = 1 << 18;  // words, too many to be sent without a receive
constexpr int kTag = 7;

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
  // Holds the last stream's message, and the words that a kernel behind it writes.
  Buffer message{kLong * sizeof(Word), MemoryKind::kDevice}, behind{kBytes, MemoryKind::kDevice};
  MPI_Request request = MPI_REQUEST_NULL;
};

int handled = 0;
MPI_Comm handled_on = MPI_COMM_NULL;

void handle(MPI_Comm* comm, int* /*code*/, ...) {
  int size = 0;
  if (*comm == handled_on && MPI_Comm_size(*comm, &size) == MPI_SUCCESS && size == 2) ++handled;
}

// Enqueues an exchange of slowly produced data in a ring.
void exchange(const Lane& lane, const Buffer& from, const Buffer& to, Word first, unsigned spins = kSlow) {
  MPI_Request request = MPI_REQUEST_NULL;
  lane.fill(from, first, spins);
  CHECK_OK(MPIX_Isend_enqueue(from.get(), kElements, MPI_UINT32_T, lane.next, 0, lane.comm(), &request));
  CHECK_OK(MPIX_Recv_enqueue(to.get(), kElements, MPI_UINT32_T, lane.previous, 0, lane.comm(), MPI_STATUS_IGNORE));
  CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
}

// Rank 0's part of a message to or from rank 1.
void begin_stuck(Work& all, const std::string& what) {
  const MPI_Comm comm = all.stuck.comm();
  void* const data = all.message.get();
  if (what == "send") {
    CHECK_OK(MPIX_Send_enqueue(data, kLong, MPI_UINT32_T, 1, kTag, comm));
  } else if (what == "persistent" || what.starts_with("partition")) {
    CHECK_OK(what == "persistent"
                 ? MPI_Recv_init(data, kElements, MPI_UINT32_T, 1, kTag, comm, &all.request)
                 : MPI_Precv_init(data, 2, kElements, MPI_UINT32_T, 1, kTag, comm, MPI_INFO_NULL, &all.request));
    CHECK_OK(MPIX_Startall_enqueue(1, &all.request, comm));
    CHECK_OK(MPIX_Wait_enqueue(&all.request, MPI_STATUS_IGNORE));
  } else {
    CHECK_OK(MPIX_Recv_enqueue(data, kElements, MPI_UINT32_T, 1, kTag, comm, MPI_STATUS_IGNORE));
  }
  all.stuck.fill(all.behind, kTag);
}

// Rank 1's part.
void take_part(Work& all, const std::string& what, const char* file) {
  if (what == "partitions") {
    CHECK_OK(MPI_Psend_init(all.message.get(), 4, kElements / 2, MPI_UINT32_T, 0, kTag, all.stuck.comm(), MPI_INFO_NULL,
                            &all.request));
    CHECK_OK(MPI_Start(&all.request));
  } else if (what == "late") {
    all.message.put(counting(kLong, kTag));
    if (std::ifstream(file).get() == EOF) check::fail(__FILE__, __LINE__, "FILE has ended");
    CHECK_OK(MPI_Send(all.message.get(), kElements, MPI_UINT32_T, 0, kTag, all.stuck.comm()));
  }
}

void begin(Work& all) {
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
  const std::string what = argc > 1 ? argv[1] : "";
  const auto* const kernels = new streams::Kernels;
  auto* const all = new streams::Work(*kernels);
  const int rank = all->stuck.rank;
  streams::begin(*all);
  if (!what.empty() && rank == 0) streams::begin_stuck(*all, what);
  if (rank == 1) streams::take_part(*all, what, argc > 2 ? argv[2] : "");
  const bool fails = (what == "returned" || what == "handled") && rank == 0;
  MPI_Errhandler handler = fails ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;
  if (what == "handled") CHECK_OK(MPI_Comm_create_errhandler(streams::handle, &handler));
  CHECK_OK(MPI_Comm_set_errhandler(all->stuck.comm(), handler));
  streams::handled_on = what == "handled" ? all->stuck.comm() : MPI_COMM_NULL;
  const int code = MPI_Finalize();
  if ((code != MPI_SUCCESS) != fails || streams::handled != (fails && what == "handled" ? 1 : 0)) {
    // MPI has ended, and check::fail() uses it.
    std::fprintf(stderr, "rank %d: MPI_Finalize returned %d, handler called %d times\n", rank, code, streams::handled);
    return 1;
  }
  // Its streams have come to the end of every operation; take() would wait for them otherwise.
  streams::check_data(*all);
  using streams::counting;
  if (!what.empty() && rank == 0) {
    streams::expect(all->behind.take<streams::Word>(), counting(streams::kCount, streams::kTag), "behind the message");
  }
  if (what == "late" && rank == 0) {
    std::vector<streams::Word> words = all->message.take<streams::Word>();
    words.resize(streams::kCount);
    streams::expect(words, counting(streams::kCount, streams::kTag), "a late message");
  }
  return 0;
}

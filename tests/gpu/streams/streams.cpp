// MPI operations in streams: their order among kernels, copies and events, every kind of memory, graphs, and errors.
// Runs the named parts; without arguments, or with "all", every part but "declined", which needs a driver that cannot
// capture the operations.
#include <mpix-device.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "parts.hpp"
#include "ring.hpp"

namespace streams {
namespace {

void derived(const Kernels& kernels) {
  const Lane lane(kernels);
  constexpr int kRows = 500;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(kRows, 1, 3, MPI_UINT32_T, &column));
  CHECK_OK(MPI_Type_commit(&column));
  Buffer from(3 * kRows * sizeof(Word), MemoryKind::kDevice), to(3 * kRows * sizeof(Word), MemoryKind::kDevice);
  poison(to);
  gpu::synchronize();
  lane.fill(from, value_of(lane.rank, 0), kSlow);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPIX_Isend_enqueue(from.get(), 1, column, lane.next, 0, lane.comm(), &request));
  CHECK_OK(
      MPIX_Recv_enqueue(static_cast<Word*>(to.get()) + 1, 1, column, lane.previous, 0, lane.comm(), MPI_STATUS_IGNORE));
  CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Type_free(&column));  // the operation keeps it
  lane.wait();
  const auto found = to.take<Word>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Word wanted = i % 3 == 1 ? value_of(lane.previous, 0) + static_cast<Word>(i - 1) : kPoison;
    check::equal(__FILE__, __LINE__, "an element of a column", found[i], wanted);
  }
}

void any_source(const Kernels& kernels) {
  const Lane lane(kernels);
  Buffer from(64, MemoryKind::kDevice), to(64, MemoryKind::kDevice);
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(lane.size));
  Buffer seen(64 * static_cast<std::size_t>(lane.size), MemoryKind::kDevice);
  poison(to);
  gpu::synchronize();
  lane.fill(from, value_of(lane.rank, 1), kSlow);
  std::vector<MPI_Request> requests;
  for (int to_rank = 0; to_rank < lane.size; ++to_rank) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, to_rank, 5 + lane.rank, lane.comm(), &request));
    requests.push_back(request);
  }
  for (int i = 0; i < lane.size; ++i) {
    CHECK_OK(MPIX_Recv_enqueue(to.get(), 16, MPI_UINT32_T, MPI_ANY_SOURCE, MPI_ANY_TAG, lane.comm(),
                               &statuses[static_cast<std::size_t>(i)]));
    lane.copy(seen, static_cast<std::size_t>(i) * 16, to);
  }
  CHECK_OK(MPIX_Waitall_enqueue(lane.size, requests.data(), MPI_STATUSES_IGNORE));
  lane.wait();
  const auto found = seen.take<Word>();
  std::vector<bool> came(static_cast<std::size_t>(lane.size), false);
  for (int i = 0; i < lane.size; ++i) {
    const MPI_Status& status = statuses[static_cast<std::size_t>(i)];
    int count = 0;
    CHECK_OK(MPI_Get_count(&status, MPI_UINT32_T, &count));
    CHECK(count == 16 && status.MPI_TAG == 5 + status.MPI_SOURCE);
    CHECK(!came[static_cast<std::size_t>(status.MPI_SOURCE)]);
    came[static_cast<std::size_t>(status.MPI_SOURCE)] = true;
    check::equal(__FILE__, __LINE__, "a word from any source", found[static_cast<std::size_t>(i) * 16],
                 value_of(status.MPI_SOURCE, 1));
  }
  MPI_Request nobody = MPI_REQUEST_NULL;
  CHECK_OK(MPIX_Irecv_enqueue(to.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm(), &nobody));
  CHECK_OK(MPIX_Send_enqueue(from.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm()));
  CHECK_OK(MPIX_Wait_enqueue(&nobody, &statuses[0]));
  lane.wait();
  CHECK(statuses[0].MPI_SOURCE == MPI_PROC_NULL);
}

// The stream of one communicator waits for a message that is sent only after many exchanges in the other stream.
void two_communicators(const Kernels& kernels) {
  const Lane waiting(kernels), working(kernels);
  const bool receives = waiting.rank % 2 == 0 && waiting.rank + 1 < waiting.size;
  const bool sends = waiting.rank % 2 == 1;
  Buffer data(4096, MemoryKind::kDevice), late(4096, MemoryKind::kDevice);
  Buffer sum(4096, MemoryKind::kDevice);
  Ring exchange(working, MemoryKind::kDevice, 5000);
  poison(late);
  data.put(counting(1024, 3));
  gpu::synchronize();
  if (receives) {
    CHECK_OK(MPIX_Recv_enqueue(late.get(), 1024, MPI_UINT32_T, waiting.rank + 1, 0, waiting.comm(), MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < 5; ++i) exchange.run("beside a stream that waits");
  // Calls on the host also continue to work.
  CHECK_OK(MPI_Allreduce(data.get(), sum.get(), 1024, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD));
  expect(sum.take<Word>(), counting(1024, 3), "a reduction beside a stream that waits");
  if (sends) {
    CHECK_OK(MPIX_Send_enqueue(data.get(), 1024, MPI_UINT32_T, waiting.rank - 1, 0, waiting.comm()));
  }
  waiting.wait();
  if (receives) expect(late.take<Word>(), counting(1024, 3), "a late message");
}

void collectives(const Kernels& kernels) {
  const Lane lane(kernels);
  for (const MemoryKind kind :
       {MemoryKind::kDevice, MemoryKind::kManaged, MemoryKind::kHostPinned, MemoryKind::kPool}) {
    for (const std::size_t count : {std::size_t{2}, std::size_t{100000}}) {
      Buffer from(count * sizeof(Word), kind), sum(count * sizeof(Word), kind), seen(count * sizeof(Word), kind);
      poison(sum);
      gpu::synchronize();
      lane.fill(from, static_cast<Word>(lane.rank), kSlow);
      CHECK_OK(
          MPIX_Allreduce_enqueue(from.get(), sum.get(), static_cast<int>(count), MPI_UINT32_T, MPI_SUM, lane.comm()));
      lane.copy(seen, 0, sum);
      CHECK_OK(
          MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum.get(), static_cast<int>(count), MPI_UINT32_T, MPI_MAX, lane.comm()));
      lane.wait();
      std::vector<Word> wanted(count);
      for (std::size_t i = 0; i < count; ++i) {
        wanted[i] =
            static_cast<Word>(lane.size * (lane.size - 1) / 2) + static_cast<Word>(lane.size) * static_cast<Word>(i);
      }
      expect(seen.take<Word>(), wanted, std::string("a reduction of ") + hr::test::name_of(kind) + " memory");
      expect(sum.take<Word>(), wanted, std::string("a reduction in place of ") + hr::test::name_of(kind) + " memory");
    }
  }
}

// Persistent requests of all kinds: messages, collectives and partitioned ones.
void persistent(const Kernels& kernels) {
  const Lane lane(kernels);
  constexpr std::size_t kCount = 3000;
  constexpr std::size_t kBytes = kCount * sizeof(Word);
  Buffer from(kBytes, MemoryKind::kDevice), to(kBytes, MemoryKind::kDevice), sum(kBytes, MemoryKind::kDevice);
  Buffer pieces(kBytes, MemoryKind::kDevice), seen(3 * kBytes, MemoryKind::kDevice);
  constexpr int kElements = static_cast<int>(kCount);
  MPI_Request requests[5];
  CHECK_OK(MPI_Send_init(from.get(), kElements, MPI_UINT32_T, lane.next, 1, lane.comm(), &requests[0]));
  CHECK_OK(MPI_Recv_init(to.get(), kElements, MPI_UINT32_T, lane.previous, 1, lane.comm(), &requests[1]));
  CHECK_OK(MPI_Allreduce_init(from.get(), sum.get(), kElements, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL,
                              &requests[2]));
  CHECK_OK(MPI_Psend_init(from.get(), 3, kElements / 3, MPI_UINT32_T, lane.next, 2, lane.comm(), MPI_INFO_NULL,
                          &requests[3]));
  CHECK_OK(MPI_Precv_init(pieces.get(), 2, kElements / 2, MPI_UINT32_T, lane.previous, 2, lane.comm(), MPI_INFO_NULL,
                          &requests[4]));
  MPIX_Prequest marks;
  CHECK_OK(MPIX_Prequest_create(requests[3], &marks));
  CHECK_OK(MPIX_Matchall(5, requests));
  for (int round = 0; round < 3; ++round) {
    poison(to);
    poison(sum);
    poison(pieces);
    gpu::synchronize();
    lane.fill(from, value_of(lane.rank, round), kSlow);
    CHECK_OK(MPIX_Startall_enqueue(5, requests, lane.comm()));
    // The stream marks the partitions, as a kernel would.
    for (unsigned i = 0; i < 3; ++i) {
      gpu::check(driver<int(gpu::Stream, unsigned long long, std::uint32_t, unsigned)>("cuStreamWriteValue32_v2")(
                     lane.stream(), reinterpret_cast<std::uintptr_t>(marks.device_marks + i), 1, 0),
                 "cuStreamWriteValue32");
    }
    CHECK_OK(MPIX_Wait_enqueue(&requests[1], MPI_STATUS_IGNORE));
    lane.copy(seen, 0, to);
    CHECK_OK(MPIX_Wait_enqueue(&requests[2], MPI_STATUS_IGNORE));
    lane.copy(seen, kCount, sum);
    CHECK_OK(MPIX_Waitall_enqueue(5, requests, MPI_STATUSES_IGNORE));
    lane.copy(seen, 2 * kCount, pieces);
    lane.wait();
    const auto found = seen.take<Word>();
    std::vector<Word> wanted = counting(kCount, value_of(lane.previous, round));
    std::vector<Word> total(kCount, 0);
    for (int rank = 0; rank < lane.size; ++rank) {
      const auto each = counting(kCount, value_of(rank, round));
      for (std::size_t i = 0; i < kCount; ++i) total[i] += each[i];
    }
    expect({found.begin(), found.begin() + kCount}, wanted, "a persistent receive");
    expect({found.begin() + kCount, found.begin() + 2 * kCount}, total, "a persistent reduction");
    expect({found.begin() + 2 * kCount, found.end()}, wanted, "a partitioned receive");
  }
  CHECK_OK(MPIX_Prequest_free(&marks));
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
}

// Every launch of the graph sends the result of the previous one.
void graph(const Kernels& kernels) {
  constexpr int kLaunches = 100;
  constexpr std::size_t kCount = 600;
  constexpr std::size_t kBytes = kCount * sizeof(Word);
  constexpr int kElements = static_cast<int>(kCount);
  for (int mode = 0; mode < 3; ++mode) {
    const Lane lane(kernels);
    Buffer from(kBytes, MemoryKind::kDevice), to(kBytes, MemoryKind::kDevice), sum(kBytes, MemoryKind::kDevice);
    Buffer total(kBytes, MemoryKind::kDevice), sums(kBytes, MemoryKind::kDevice), unused(kBytes, MemoryKind::kDevice);
    MPI_Request persistent[2];
    Buffer again(kBytes, MemoryKind::kDevice), agains(kBytes, MemoryKind::kDevice);
    CHECK_OK(MPI_Send_init(from.get(), kElements, MPI_UINT32_T, lane.previous, 9, lane.comm(), &persistent[0]));
    CHECK_OK(MPI_Recv_init(again.get(), kElements, MPI_UINT32_T, lane.next, 9, lane.comm(), &persistent[1]));
    CHECK_OK(MPIX_Matchall(2, persistent));
    from.put(counting(kCount, value_of(lane.rank, 0)));
    for (Buffer* each : {&total, &sums, &unused, &agains}) each->put(std::vector<Word>(kCount, 0));
    gpu::synchronize();
    const Graph exchange(lane, mode, [&] {
      MPI_Request requests[2];
      CHECK_OK(MPIX_Irecv_enqueue(to.get(), kElements, MPI_UINT32_T, lane.previous, 0, lane.comm(), &requests[0]));
      CHECK_OK(MPIX_Isend_enqueue(from.get(), kElements, MPI_UINT32_T, lane.next, 0, lane.comm(), &requests[1]));
      CHECK_OK(MPIX_Startall_enqueue(2, persistent, lane.comm()));
      CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
      CHECK_OK(MPIX_Allreduce_enqueue(to.get(), sum.get(), kElements, MPI_UINT32_T, MPI_SUM, lane.comm()));
      lane.step(sums, sum, unused);
      CHECK_OK(MPIX_Waitall_enqueue(2, persistent, MPI_STATUSES_IGNORE));
      lane.step(agains, again, unused);
      lane.step(total, to, from);  // the next launch sends values that are one greater
    });
    for (int launch = 0; launch < kLaunches; ++launch) exchange.launch();
    lane.wait();
    std::vector<Word> wanted(kCount), wanted_sums(kCount), wanted_agains(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      for (int launch = 0; launch < kLaunches; ++launch) {
        const Word more = static_cast<Word>(i) + static_cast<Word>(launch);
        wanted[i] += value_of(lane.previous, 0) + more;
        wanted_agains[i] += value_of(lane.next, 0) + more;
        for (int rank = 0; rank < lane.size; ++rank) wanted_sums[i] += value_of(rank, 0) + more;
      }
    }
    const std::string what = std::string("a graph of a ") + kModes[mode] + " capture: ";
    expect(total.take<Word>(), wanted, what + "messages");
    expect(agains.take<Word>(), wanted_agains, what + "persistent requests");
    expect(sums.take<Word>(), wanted_sums, what + "reductions");
    for (MPI_Request& each : persistent) CHECK_OK(MPI_Request_free(&each));
  }
}

// Blocking calls on the communicator are ordered after the work of its stream, though that stream is independent of the
// default stream.
void blocking(const Kernels& kernels) {
  const Lane lane(kernels), stuck(kernels);
  Buffer from(40000, MemoryKind::kDevice), to(40000, MemoryKind::kDevice), late(64, MemoryKind::kDevice);
  poison(to);
  gpu::synchronize();
  if (lane.rank == 0) {  // calls on the other communicator do not wait for this stream
    CHECK_OK(MPIX_Recv_enqueue(late.get(), 16, MPI_UINT32_T, 0, 1, stuck.comm(), MPI_STATUS_IGNORE));
  }
  for (int round = 0; round < 3; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    lane.fill(from, value_of(lane.rank, round), 10 * kSlow);
    CHECK_OK(MPI_Irecv(to.get(), 10000, MPI_UINT32_T, lane.previous, 0, lane.comm(), &request));
    CHECK_OK(MPI_Send(from.get(), 10000, MPI_UINT32_T, lane.next, 0, lane.comm()));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect(to.take<Word>(), counting(10000, value_of(lane.previous, round)), "a blocking message after a stream");
    lane.fill(from, static_cast<Word>(round), 10 * kSlow);
    CHECK_OK(MPI_Allreduce(from.get(), to.get(), 10000, MPI_UINT32_T, MPI_MAX, lane.comm()));
    expect(to.take<Word>(), counting(10000, static_cast<Word>(round)), "a blocking reduction after a stream");
  }
  if (lane.rank == 0) {
    // A second communicator with the same stream would wait for it; a request on the host ends the wait.
    std::vector<Word> host = counting(16, 5);
    MPI_Comm plain = stuck.comm();
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Send_init(host.data(), 16, MPI_UINT32_T, 0, 1, plain, &request));
    CHECK_OK(MPI_Start(&request));
    stuck.wait();
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Request_free(&request));
    expect(late.take<Word>(), counting(16, 5), "a message that the host sent");
  }
}

// More operations than a stream can hold; the host runs far ahead.
void many(const Kernels& kernels) {
  constexpr int kMessages = 1500;
  // Freed after the communicator, which waits for the stream: the driver also waits for it, but with its lock held.
  Buffer from(kMessages * sizeof(Word), MemoryKind::kDevice), to(kMessages * sizeof(Word), MemoryKind::kDevice);
  const Lane lane(kernels);
  poison(to);
  gpu::synchronize();
  lane.fill(from, value_of(lane.rank, 0), kSlow);
  for (int i = 0; i < kMessages; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPIX_Isend_enqueue(static_cast<Word*>(from.get()) + i, 1, MPI_UINT32_T, lane.next, i % 7, lane.comm(),
                                &request));
    CHECK_OK(MPIX_Recv_enqueue(static_cast<Word*>(to.get()) + i, 1, MPI_UINT32_T, lane.previous, i % 7, lane.comm(),
                               MPI_STATUS_IGNORE));
    CHECK_OK(i % 2 == 0 ? MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE) : MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  lane.wait();
  expect(to.take<Word>(), counting(kMessages, value_of(lane.previous, 0)), "many messages");
  // MPI_Comm_free waits for operations for which the program has not waited.
  CHECK_OK(MPIX_Recv_enqueue(to.get(), 1, MPI_UINT32_T, lane.previous, 8, lane.comm(), MPI_STATUS_IGNORE));
  CHECK_OK(MPIX_Send_enqueue(from.get(), 1, MPI_UINT32_T, lane.next, 9, lane.comm()));
  // The two do not match: the messages are on host communicators.
  MPI_Request rest[2];
  Word out = 1, in = 0;
  CHECK_OK(MPI_Send_init(&out, 1, MPI_UINT32_T, lane.next, 8, lane.comm(), &rest[0]));
  CHECK_OK(MPI_Recv_init(&in, 1, MPI_UINT32_T, lane.previous, 9, lane.comm(), &rest[1]));
  CHECK_OK(MPI_Startall(2, rest));
  CHECK_OK(MPI_Waitall(2, rest, MPI_STATUSES_IGNORE));
  for (MPI_Request& each : rest) CHECK_OK(MPI_Request_free(&each));
}

// The same messages with ordinary calls.
void warm_up() {
  int rank = 0, size = 0;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (const MemoryKind kind : hr::test::kAllKinds) {
    Buffer from(800000, kind), to(800000, kind);
    gpu::synchronize();
    for (const int bytes : {8, 800000}) {
      CHECK_OK(MPI_Sendrecv(from.get(), bytes, MPI_BYTE, (rank + 1) % size, 0, to.get(), bytes, MPI_BYTE,
                            (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
  }
}

const std::map<std::string, std::function<void(const Kernels&)>>& parts() {
  static const std::map<std::string, std::function<void(const Kernels&)>> all = {{"abandoned", abandoned},
                                                                                 {"memory", memory},
                                                                                 {"kinds", kinds_of_streams},
                                                                                 {"derived", derived},
                                                                                 {"any", any_source},
                                                                                 {"two", two_communicators},
                                                                                 {"collectives", collectives},
                                                                                 {"persistent", persistent},
                                                                                 {"graph", graph},
                                                                                 {"refused", refused_in_capture},
                                                                                 {"declined", declined},
                                                                                 {"matched", matched},
                                                                                 {"waiting", waiting},
                                                                                 {"blocking", blocking},
                                                                                 {"cold", cold},
                                                                                 {"errors", errors},
                                                                                 {"many", many}};
  return all;
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_SINGLE);
  if (!hr::test::select_device()) return 0;
  const streams::Kernels kernels;
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty() || names[0] == "all") {
    names.clear();
    for (const auto& [name, part] : streams::parts()) {
      if (name != "declined") names.push_back(name);
    }
  }
  if (names.front() != "cold") streams::warm_up();
  for (const std::string& name : names) {
    const auto found = streams::parts().find(name);
    if (found == streams::parts().end()) check::fail(__FILE__, __LINE__, "there is no part " + name);
    if (mpi.rank == 0) std::printf("%s\n", name.c_str()), std::fflush(stdout);
    found->second(kernels);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return 0;
}

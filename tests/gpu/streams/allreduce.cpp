// Persistent reductions that MPIX_Matchall has matched: every operation and type that streams execute alone, and some
// that they do not, in a stream and in graphs, beside messages, in place, and in every kind of memory.
//
//   mpi_streams_allreduce [all]
#include "../memory_in_use.hpp"
#include "../variable.hpp"
#include "reduction.hpp"

namespace streams {
namespace {

// Checks whether the devices of this run execute reductions alone.
bool devices_can(const Lane& lane) {
  Reduction one(lane, {kTypes[0], kOps[0], 4}, true);
  CHECK_OK(MPIX_Matchall(1, &one.request));
  hr::test::Variable by_streams("HEADRACE_ENQUEUED_BY_STREAMS");
  one.put(1);
  gpu::synchronize();
  CHECK_OK(MPIX_Startall_enqueue(1, &one.request, lane.comm()));
  CHECK_OK(MPIX_Wait_enqueue(&one.request, MPI_STATUS_IGNORE));
  lane.wait();
  one.check(1, "the first");
  const bool can = by_streams.take() == 1;
  if (hr::test::on_fake_driver()) CHECK_EQ(can, lane.size > 1 && on_one_host());
  return can;
}

// Runs reductions one at a time in a stream, all at once in it, and all at once in a graph that is launched several
// times.
void every_way(const Lane& lane, const std::vector<What>& whats) {
  std::vector<std::unique_ptr<Reduction>> all;
  std::vector<MPI_Request> requests;
  unsigned long long alone = 0;
  const bool can = devices_can(lane);
  for (const What& what : whats) {
    all.push_back(std::make_unique<Reduction>(lane, what, !can || !what.by_streams));
    requests.push_back(all.back()->request);
    if (what.by_streams) ++alone;
  }
  const int count = static_cast<int>(requests.size());
  CHECK_OK(MPIX_Matchall(count, requests.data()));
  hr::test::Variable by_streams("HEADRACE_ENQUEUED_BY_STREAMS"), by_host("HEADRACE_ENQUEUED_DONE");
  unsigned seed = 1;
  const auto round = [&](const char* where, const auto& work) {
    for (const auto& each : all) each->put(seed);
    gpu::synchronize();
    work();
    lane.wait();
    for (const auto& each : all) each->check(seed, where);
    ++seed;
  };
  const auto together = [&] {
    CHECK_OK(MPIX_Startall_enqueue(count, requests.data(), lane.comm()));
    CHECK_OK(MPIX_Waitall_enqueue(count, requests.data(), MPI_STATUSES_IGNORE));
  };
  std::vector<MPI_Status> statuses(requests.size());  // written until the stream has reached this point
  round("one by one", [&] {
    for (std::size_t n = 0; n < requests.size(); ++n) {
      if (n % 2 == 1) {
        CHECK_OK(MPIX_Runall_enqueue(1, &requests[n], lane.comm()));
        continue;
      }
      CHECK_OK(MPIX_Startall_enqueue(1, &requests[n], lane.comm()));
      CHECK_OK(MPIX_Wait_enqueue(&requests[n], &statuses[n]));
    }
  });
  round("together", together);
  const Graph graph(lane, 2, together);
  for (int launch = 0; launch < 3; ++launch) round("in a graph", [&] { graph.launch(); });
  round("together after a graph", together);
  if (!can) return;
  CHECK_EQ(by_streams.take(), 4 * alone);
  CHECK_EQ(by_host.take(), 6 * (requests.size() - alone));
}

void operations(const Kernels& kernels) {
  const Lane lane(kernels);
  std::vector<What> all;
  for (const Type& type : kTypes) {
    const bool integer = &type - kTypes < kIntegers;
    std::size_t count = 1;
    for (int op = 0; op < (integer ? 7 : kOfReals); ++op, count = count * 4 + 1)
      all.push_back({type, kOps[op], std::min(count, 8192 / type.bytes)});
  }
  every_way(lane, all);
}

void others(const Kernels& kernels) {
  const Lane lane(kernels);
  const Type word = kTypes[0], real = kTypes[7];
  std::vector<What> all = {
      {word, kOps[0], 2048, MemoryKind::kDevice, true},      // in place
      {real, kOps[0], 1, MemoryKind::kDevice, true},         //
      {word, kOps[0], 700, MemoryKind::kDevice, false, 1},   // not aligned to 16 bytes
      {real, kOps[2], 33, MemoryKind::kDevice, true, 3},     //
      {word, kOps[0], 2049, MemoryKind::kDevice, true},      // several blocks
      {real, kOps[1], 1023, MemoryKind::kDevice, false, 1},  //
      {word, kOps[0], 9, MemoryKind::kHostPinned, false, 0, false},
      {word, kOps[0], 9, MemoryKind::kManaged, false, 0, false},
      {{"uint8", MPI_UINT8_T, 1, small_number<std::uint8_t>}, kOps[0], 5, MemoryKind::kDevice, false, 0, false},
      {{"value and index", MPI_2INT, 8, value_and_index},
       {"minloc", MPI_MINLOC},
       5,
       MemoryKind::kDevice,
       false,
       0,
       false}};
  // One rank's memory decides for all.
  all.push_back({word, kOps[0], 7, lane.rank == 0 ? MemoryKind::kHostPinned : MemoryKind::kDevice, false, 0, false});
  MPI_Op user = MPI_OP_NULL;
  CHECK_OK(MPI_Op_create(
      [](void* in, void* inout, int* length, MPI_Datatype*) {
        for (int i = 0; i < *length; ++i) static_cast<Word*>(inout)[i] += static_cast<Word*>(in)[i];
      },
      1, &user));
  all.push_back({word, {"user", user}, 3, MemoryKind::kHostPinned, false, 0, false});
  every_way(lane, all);
  CHECK_OK(MPI_Op_free(&user));
}

// A sum of operands that grow by one in each step, and a message of the operands beside it, between kernels.
class Chain {
 public:
  Chain(const Lane& lane, std::size_t count)
      : lane_(lane),
        count_(count),
        from_(bytes(), kDevice),
        to_(bytes(), kDevice),
        total_(bytes(), kDevice),
        got_(bytes(), kDevice) {
    const int elements = static_cast<int>(count);
    CHECK_OK(MPI_Allreduce_init(from_.get(), to_.get(), elements, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL,
                                &requests_[0]));
    CHECK_OK(MPI_Send_init(from_.get(), elements, MPI_UINT32_T, lane.next, 0, lane.comm(), &requests_[1]));
    CHECK_OK(MPI_Recv_init(got_.get(), elements, MPI_UINT32_T, lane.previous, 0, lane.comm(), &requests_[2]));
    CHECK_OK(MPIX_Matchall(3, requests_));
    from_.put(counting(count, first(lane.rank)));
    total_.put(std::vector<Word>(count, 0));
    gpu::synchronize();
  }
  ~Chain() {
    for (MPI_Request& each : requests_) CHECK_OK(MPI_Request_free(&each));
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  void step(unsigned spins) {
    lane_.fill(to_, 12345, lane_.rank == 0 ? spins : 0);  // the ranks come at different times
    if (++steps_ % 2 == 0) {
      // One after the other, and then both messages at once.
      CHECK_OK(MPIX_Runall_enqueue(1, requests_, lane_.comm()));
      CHECK_OK(MPIX_Runall_enqueue(2, requests_ + 1, lane_.comm()));
      return lane_.step(total_, to_, from_);
    }
    CHECK_OK(MPIX_Startall_enqueue(3, requests_, lane_.comm()));
    CHECK_OK(MPIX_Waitall_enqueue(3, requests_, MPI_STATUSES_IGNORE));
    lane_.step(total_, to_, from_);
  }
  void expect_after(int rounds) const {
    std::vector<Word> wanted(count_, 0);
    const auto times = static_cast<Word>(rounds);
    for (std::size_t i = 0; i < count_; ++i) {
      for (int rank = 0; rank < lane_.size; ++rank)
        wanted[i] += times * (first(rank) + static_cast<Word>(i)) + times * (times - 1) / 2;
    }
    expect(total_.take<Word>(), wanted, "sums of " + std::to_string(count_) + " words");
    expect(got_.take<Word>(), counting(count_, first(lane_.previous) + times - 1), "a message beside a sum");
  }

 private:
  static constexpr MemoryKind kDevice = MemoryKind::kDevice;
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(Word); }
  static Word first(int rank) { return static_cast<Word>(rank * 10007 + 3); }

  const Lane& lane_;
  std::size_t count_;
  int steps_ = 0;
  Buffer from_, to_, total_, got_;
  MPI_Request requests_[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

// In graphs, in the stream, and alternately; two communicators at once.
void chain(const Kernels& kernels) {
  constexpr int kLaunches = 100, kStarts = 3;
  const Lane lane(kernels), other(kernels);
  Chain words(lane, 2), many(lane, 2048), beside(other, 100);
  const auto launch = [&] {
    for (int i = 0; i < kStarts; ++i) {
      words.step(i == 1 ? 2000 : 0);
      many.step(0);
    }
  };
  const Graph graph(lane, 0, launch), graph_beside(other, 1, [&] { beside.step(1000); });
  int rounds = 0;
  for (int i = 0; i < kLaunches; ++i) {
    if (i % 5 == 4) {
      words.step(0);
      many.step(500);
      ++rounds;
    } else {
      graph.launch();
      rounds += kStarts;
    }
    graph_beside.launch();
  }
  lane.wait();
  other.wait();
  words.expect_after(rounds);
  many.expect_after(rounds);
  beside.expect_after(kLaunches);
}

// The host can neither start the reduction nor wait for it.
void refused(const Kernels& kernels) {
  const Lane lane(kernels);
  if (!devices_can(lane)) return;
  Reduction one(lane, {kTypes[0], kOps[0], 4}, true);
  CHECK_OK(MPIX_Matchall(1, &one.request));
  CHECK_OK(MPIX_Matchall(1, &one.request));  // nothing is left to match
  CHECK_CLASS(MPI_Start(&one.request), MPI_ERR_REQUEST);
  one.put(7);
  gpu::synchronize();
  CHECK_OK(MPIX_Startall_enqueue(1, &one.request, lane.comm()));
  CHECK_CLASS(MPIX_Startall_enqueue(1, &one.request, lane.comm()), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Wait(&one.request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  CHECK_OK(MPIX_Wait_enqueue(&one.request, MPI_STATUS_IGNORE));
  lane.wait();
  one.check(7, "after refused calls");
}

// Revoking a communicator lets its members' streams continue.
void revoked(const Kernels& kernels) {
  const Lane lane(kernels);
  if (!devices_can(lane)) return;
  Reduction one(lane, {kTypes[0], kOps[0], 4}, true);
  Buffer after(64, MemoryKind::kDevice);
  CHECK_OK(MPIX_Matchall(1, &one.request));
  if (lane.rank == 0) {
    for (int rank = 1; rank < lane.size; ++rank)
      CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Comm_revoke(lane.comm()));
    return;
  }
  CHECK_OK(MPIX_Startall_enqueue(1, &one.request, lane.comm()));
  CHECK_OK(MPIX_Wait_enqueue(&one.request, MPI_STATUS_IGNORE));
  lane.fill(after, 9);
  CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
  lane.wait();
  expect(after.take<Word>(), counting(16, 9), "a kernel after a reduction that was revoked");
  CHECK_CLASS(MPIX_Startall_enqueue(1, &one.request, lane.comm()), MPIX_ERR_REVOKED);
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_SINGLE);
  if (!hr::test::select_device()) return 0;
  const streams::Kernels kernels;
  streams::operations(kernels);
  streams::others(kernels);
  streams::chain(kernels);
  streams::refused(kernels);
  streams::revoked(kernels);
  return 0;
}

// Persistent bcast, allgather and reduce_scatter that MPIX_Matchall has matched, so that kernels execute them in the
// buffers of all ranks: random lengths, roots, types, operations, alignments, in place, in a stream and in graphs; then
// ranks that wait in different orders. The seed is printed.
//
//   mpi_streams_collectives [--seed N|random] [--rounds N]
#include <algorithm>
#include <cstring>

#include "alone.hpp"
#include "reduction.hpp"

namespace streams {
namespace {

enum class Kind { kBcast, kAllgather, kReduceScatterBlock, kReduceScatter };
constexpr const char* kNames[] = {"bcast", "allgather", "reduce_scatter_block", "reduce_scatter"};
constexpr std::size_t kGuard = 64;  // bytes behind each buffer
constexpr unsigned char kUntouched = 0xa5;

struct Plan {
  Kind kind = Kind::kBcast;
  Type type = kTypes[0];
  Op op = kOps[0];
  std::vector<int> counts;  // elements of each rank's block; for a bcast, of the buffer
  int root = 0;
  bool in_place = false;
  std::size_t from = 0, to = 0;  // elements before the buffers
};

const Type kByte{"byte", MPI_BYTE, 1, small_number<std::uint8_t>};

Plan random_plan(std::mt19937& random, int ranks) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random()) % limit; };
  Plan made;
  made.kind = static_cast<Kind>(below(4));
  const bool copies = made.kind == Kind::kBcast || made.kind == Kind::kAllgather;
  const std::size_t type = below(std::size(kTypes));
  made.type = copies && below(2) == 0 ? kByte : kTypes[type];
  made.op = kOps[below(type < kIntegers ? std::size(kOps) : kOfReals)];
  made.root = static_cast<int>(below(static_cast<std::size_t>(ranks)));
  made.in_place = made.kind == Kind::kAllgather && below(2) == 0;
  if (below(2) == 0) made.from = below(9);
  made.to = below(2) == 0 ? made.from : below(9);
  // Lengths of all orders of magnitude, half of them in whole vectors.
  const std::size_t most = std::size_t{1} << (1 + below(17));
  for (int rank = 0; rank < ranks; ++rank) {
    const bool same = rank != 0 && made.kind != Kind::kReduceScatter;
    const bool none = made.kind == Kind::kReduceScatter && below(8) == 0;
    const std::size_t count = none ? 0 : 1 + below(most);
    made.counts.push_back(same ? made.counts.front() : static_cast<int>(count));
  }
  if (made.kind != Kind::kReduceScatter && below(2) == 0)
    std::fill(made.counts.begin(), made.counts.end(), (made.counts.front() + 15) / 16 * 16);
  if (made.kind == Kind::kBcast) made.counts.resize(1);
  return made;
}

// One operation with its buffers.
class Collective {
 public:
  Collective(const Lane& lane, const Plan& plan)
      : lane_(lane), plan_(plan), from_(size(sent(), plan.from), kDevice), to_(size(received(), plan.to), kDevice) {
    void* const from = static_cast<unsigned char*>(from_.get()) + before(plan.from);
    void* const to = static_cast<unsigned char*>(to_.get()) + before(plan.to);
    const int count = plan.counts.front();
    const MPI_Datatype type = plan.type.type;
    const MPI_Op op = plan.op.op;
    const MPI_Comm comm = lane.comm();
    switch (plan.kind) {
      case Kind::kBcast:
        CHECK_OK(MPI_Bcast_init(to, count, type, plan.root, comm, MPI_INFO_NULL, &request));
        return;
      case Kind::kAllgather:
        CHECK_OK(MPI_Allgather_init(plan.in_place ? MPI_IN_PLACE : from, count, type, to, count, type, comm,
                                    MPI_INFO_NULL, &request));
        return;
      case Kind::kReduceScatterBlock:
        CHECK_OK(MPI_Reduce_scatter_block_init(from, to, count, type, op, comm, MPI_INFO_NULL, &request));
        return;
      case Kind::kReduceScatter:
        CHECK_OK(MPI_Reduce_scatter_init(from, to, plan_.counts.data(), type, op, comm, MPI_INFO_NULL, &request));
    }
  }
  ~Collective() {
    if (request != MPI_REQUEST_NULL) CHECK_OK(MPI_Request_free(&request));
  }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  void run() { CHECK_OK(MPIX_Runall_enqueue(1, &request, lane_.comm())); }
  void start() { CHECK_OK(MPIX_Startall_enqueue(1, &request, lane_.comm())); }
  void wait() { CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE)); }

  void put(unsigned seed) {
    Bytes to(to_.size(), kUntouched), from(from_.size(), kUntouched);
    const Bytes own = values(lane_.rank, seed);
    if (plan_.kind == Kind::kBcast) {
      if (lane_.rank == plan_.root) std::ranges::copy(own, to.begin() + offset(plan_.to));
    } else if (plan_.in_place) {
      std::ranges::copy(own, to.begin() + offset(plan_.to) + static_cast<std::ptrdiff_t>(own.size()) * lane_.rank);
    } else {
      std::ranges::copy(own, from.begin() + offset(plan_.from));
    }
    to_.put(to);
    from_.put(from);
  }
  void check(unsigned seed, const std::string& where) const {
    Bytes wanted(to_.size(), kUntouched);
    std::ranges::copy(result(seed), wanted.begin() + offset(plan_.to));
    const Bytes found = to_.take<unsigned char>();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (found[i] != wanted[i])
        check::fail(__FILE__, __LINE__, text() + where + ": byte " + std::to_string(i) + " of the buffer is wrong");
    }
  }

  // True if streams must execute it where kernels wait: its elements are few, or equally aligned in all buffers.
  [[nodiscard]] bool suits_kernels() const {
    constexpr std::size_t kFew = 60000;
    if (std::ranges::find(plan_.counts, 0) != plan_.counts.end()) return false;
    const bool ordered = plan_.kind == Kind::kBcast || plan_.kind == Kind::kAllgather;
    const std::size_t bytes = sum() * plan_.type.bytes;
    if (ordered ? bytes <= kFew : sum() <= kFew) return true;
    if (plan_.kind == Kind::kBcast) return true;  // one buffer, at the same offset everywhere
    return before(plan_.from) % 16 == before(plan_.to) % 16 && plan_.kind != Kind::kReduceScatter && !plan_.in_place &&
           static_cast<std::size_t>(plan_.counts.front()) * plan_.type.bytes % 16 == 0;
  }
  [[nodiscard]] std::string text() const {
    std::string counts;
    for (const int each : plan_.counts) counts += (counts.empty() ? "" : " + ") + std::to_string(each);
    return std::string(kNames[static_cast<int>(plan_.kind)]) + " of " + counts + " " + plan_.type.name +
           (plan_.in_place ? ", in place" : "") + ", " + std::to_string(plan_.from) + " and " +
           std::to_string(plan_.to) + " elements into its buffers, root " + std::to_string(plan_.root) + ", ";
  }

  MPI_Request request = MPI_REQUEST_NULL;

 private:
  static constexpr MemoryKind kDevice = MemoryKind::kDevice;
  // Elements of all blocks, of the block of a rank, of what a rank sends and receives.
  [[nodiscard]] std::size_t sum() const {
    std::size_t all = 0;
    for (const int each : plan_.counts) all += static_cast<std::size_t>(each);
    return all;
  }
  [[nodiscard]] std::size_t block(int rank) const { return static_cast<std::size_t>(plan_.counts[index(rank)]); }
  [[nodiscard]] std::size_t index(int rank) const {
    return plan_.kind == Kind::kBcast ? 0 : static_cast<std::size_t>(rank);
  }
  [[nodiscard]] bool reduces() const { return plan_.kind >= Kind::kReduceScatterBlock; }
  [[nodiscard]] std::size_t sent() const { return reduces() ? sum() : block(lane_.rank); }
  [[nodiscard]] std::size_t received() const { return reduces() ? block(lane_.rank) : sum(); }
  [[nodiscard]] std::size_t before(std::size_t elements) const { return elements * plan_.type.bytes; }
  [[nodiscard]] std::ptrdiff_t offset(std::size_t elements) const {
    return static_cast<std::ptrdiff_t>(before(elements));
  }
  [[nodiscard]] std::size_t size(std::size_t count, std::size_t elements) const {
    return before(count + elements) + kGuard;
  }

  // Data that a rank sends.
  [[nodiscard]] Bytes values(int rank, unsigned seed) const {
    const std::size_t count = reduces() ? sum() : block(rank);
    Bytes made(count * plan_.type.bytes);
    std::mt19937 random(seed * 1000 + static_cast<unsigned>(rank));
    for (std::size_t i = 0; i < count; ++i) plan_.type.make(random, true, made.data() + i * plan_.type.bytes);
    return made;
  }
  // Data that this rank receives.
  [[nodiscard]] Bytes result(unsigned seed) const {
    if (plan_.kind == Kind::kBcast) return values(plan_.root, seed);
    Bytes all = values(0, seed);
    for (int rank = 1; rank < lane_.size; ++rank) {
      Bytes next = values(rank, seed);
      if (reduces()) {
        CHECK_OK(MPI_Reduce_local(all.data(), next.data(), static_cast<int>(sum()), plan_.type.type, plan_.op.op));
        all = next;
      } else {
        all.insert(all.end(), next.begin(), next.end());
      }
    }
    if (!reduces()) return all;
    std::size_t first = 0;
    for (int rank = 0; rank < lane_.rank; ++rank) first += block(rank);
    const auto begin = all.begin() + offset(first);
    return {begin, begin + offset(block(lane_.rank))};
  }

  const Lane& lane_;
  Plan plan_;
  Buffer from_, to_;
};

// In a stream, in a graph that is launched several times, and in the stream again.
void run_all_ways(const Lane& lane, Collective& one, unsigned seed, int mode) {
  int runs = 0;
  const auto work = [&] {
    if (++runs % 2 == 0) return one.run();
    one.start();
    one.wait();
  };
  const auto round = [&](const char* where, const auto& enqueue) {
    one.put(++seed);
    gpu::synchronize();
    enqueue();
    lane.wait();
    one.check(seed, where);
  };
  round("in a stream", work);
  const Graph graph(lane, mode, work);
  for (int launch = 0; launch < 3; ++launch) round("in a graph", [&] { graph.launch(); });
  round("after a graph", work);
}

void random_operations(const Kernels& kernels, unsigned seed, int rounds) {
  constexpr int kPerLane = 10;
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; round += kPerLane) {
    const Lane lane(kernels);
    // A graph uses their buffers until the communicator is freed.
    std::vector<std::unique_ptr<Collective>> all;
    // Once a graph holds an operation of the general path, its stream may wait at any time, so the library closes no
    // mappings of memory that other ranks have freed. New small buffers in its place then cannot be mapped.
    bool closes_mappings = true;
    for (int i = 0; i < kPerLane; ++i) {
      all.push_back(std::make_unique<Collective>(lane, random_plan(random, lane.size)));
      Collective& one = *all.back();
      CHECK_OK(MPIX_Matchall(1, &one.request));
      const bool by_streams = kernels_wait(lane);
      std::unique_ptr<Alone> watch;
      if (!by_streams || (one.suits_kernels() && closes_mappings))
        watch = std::make_unique<Alone>(by_streams, one.text());
      if (!one.suits_kernels()) closes_mappings = false;
      run_all_ways(lane, one, static_cast<unsigned>(round + i) * 10, i % 3);
    }
  }
}

// A wait depends on the starts of the others alone, so ranks may wait in different orders.
void orders(const Kernels& kernels) {
  const Lane lane(kernels);
  const auto ranks = static_cast<std::size_t>(lane.size);
  std::vector<std::unique_ptr<Collective>> all;
  for (const Kind kind : {Kind::kBcast, Kind::kAllgather, Kind::kReduceScatterBlock}) {
    Plan plan;
    plan.kind = kind;
    plan.counts.assign(kind == Kind::kBcast ? 1 : ranks, 20000);
    plan.root = lane.size - 1;
    all.push_back(std::make_unique<Collective>(lane, plan));
    CHECK_OK(MPIX_Matchall(1, &all.back()->request));
  }
  for (unsigned seed = 1; seed < 5; ++seed) {
    for (const auto& each : all) each->put(seed);
    gpu::synchronize();
    for (std::size_t i = 0; i < all.size(); ++i) all[(i + seed) % all.size()]->start();
    for (std::size_t i = 0; i < all.size(); ++i) all[(i + static_cast<std::size_t>(lane.rank)) % all.size()]->wait();
    lane.wait();
    for (const auto& each : all) each->check(seed, "in another order");
  }
}

// In place, the result overwrites data that other ranks still read, so the general path must execute the operation.
void in_place(const Kernels& kernels) {
  constexpr int kBlock = 3000;
  const Lane lane(kernels);
  const auto count = static_cast<std::size_t>(lane.size * kBlock);
  Buffer data(count * sizeof(Word), MemoryKind::kDevice);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Reduce_scatter_block_init(MPI_IN_PLACE, data.get(), kBlock, MPI_UINT32_T, MPI_SUM, lane.comm(),
                                         MPI_INFO_NULL, &request));
  CHECK_OK(MPIX_Matchall(1, &request));
  data.put(counting(count, static_cast<Word>(lane.rank)));
  gpu::synchronize();
  CHECK_OK(MPIX_Startall_enqueue(1, &request, lane.comm()));
  CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  lane.wait();
  std::vector<Word> wanted(kBlock);
  const auto ranks = static_cast<Word>(lane.size);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = ranks * static_cast<Word>(static_cast<std::size_t>(lane.rank * kBlock) + i) + ranks * (ranks - 1) / 2;
  expect(data.take<Word>(), wanted, "a reduce_scatter_block in place");
  CHECK_OK(MPI_Request_free(&request));
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_SINGLE);
  unsigned seed = 1;
  int rounds = 120;  // on more communicators than may have kernels that wait at a time
  for (int i = 1; i + 1 < argc; i += 2) {
    const bool random = std::strcmp(argv[i + 1], "random") == 0;
    if (std::strcmp(argv[i], "--seed") == 0)
      seed = random ? std::random_device()() : static_cast<unsigned>(std::stoul(argv[i + 1]));
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::stoi(argv[i + 1]);
  }
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  if (!hr::test::select_device()) return 0;
  if (mpi.rank == 0) std::printf("seed %u\n", seed), std::fflush(stdout);
  const streams::Kernels kernels;
  streams::random_operations(kernels, seed, rounds);
  streams::orders(kernels);
  streams::in_place(kernels);
  return 0;
}

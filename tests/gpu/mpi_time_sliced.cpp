// Ranks that share one GPU: the paths of their messages and collectives, and that every byte is right.
//
//   mpi_time_sliced [all] [--expect pinned|direct|any] [--seed N]
//
// pinned: they are time-sliced on it (no MPS), so that all but long messages go through pinned memory. direct: kernels
// of several processes run concurrently. The path of managed memory depends on whether the host or the device accessed
// it last.
#include <cstdlib>
#include <random>
#include <string>

#include "mpi_memory.hpp"
#include "variable.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::MemoryKind;
using hr::test::Variable;

constexpr std::byte kPoison{0x5A};
constexpr std::size_t kGuard = 64;              // bytes on both sides of received data
constexpr std::size_t kMostPinned = 32 * 1024;  // an eighth of HEADRACE_DEVICE_TIME_SLICED_COLLECTIVE_BYTES

struct Counts {
  Variable staged{"HEADRACE_DEVICE_STAGED"};
  Variable pinned{"HEADRACE_COLL_THROUGH_PINNED"};
  Variable devices{"HEADRACE_COLL_DEVICE"};
  void reset() { staged.take(), pinned.take(), devices.take(); }
};

class Ring {
 public:
  Ring(const check::Environment& mpi, Counts& counts)
      : rank_(mpi.rank),
        next_((mpi.rank + 1) % mpi.size),
        before_((mpi.rank + mpi.size - 1) % mpi.size),
        counts_(counts) {}

  // Every rank sends to the next one, all at once or odd ranks after even ones; returns how many of the messages
  // received here were staged.
  unsigned long long shift(std::size_t bytes, MemoryKind send_kind, MemoryKind receive_kind, bool device_touches,
                           bool in_turns = false) {
    Buffer from(bytes + 2 * kGuard, send_kind);
    Buffer to(bytes + 2 * kGuard, receive_kind);
    put(from, framed(bytes, rank_), device_touches);
    put(to, std::vector<std::byte>(bytes + 2 * kGuard, kPoison), device_touches);
    gpu::synchronize();  // a message is staged if the default stream is still busy
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    counts_.reset();
    const int count = static_cast<int>(bytes);
    if (in_turns && rank_ % 2 == 0)
      CHECK_OK(MPI_Ssend(from.bytes() + kGuard, count, MPI_BYTE, next_, 7, MPI_COMM_WORLD));
    MPI_Request send = MPI_REQUEST_NULL;
    if (!in_turns) CHECK_OK(MPI_Isend(from.bytes() + kGuard, count, MPI_BYTE, next_, 7, MPI_COMM_WORLD, &send));
    CHECK_OK(MPI_Recv(to.bytes() + kGuard, count, MPI_BYTE, before_, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (in_turns && rank_ % 2 == 1)
      CHECK_OK(MPI_Ssend(from.bytes() + kGuard, count, MPI_BYTE, next_, 7, MPI_COMM_WORLD));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    const unsigned long long staged = counts_.staged.take();
    if (to.read() != framed(bytes, before_)) {
      check::fail(__FILE__, __LINE__,
                  std::to_string(bytes) + " bytes from " + hr::test::name_of(send_kind) + " to " +
                      hr::test::name_of(receive_kind) + " memory are wrong");
    }
    return staged;
  }

 private:
  static std::vector<std::byte> framed(std::size_t bytes, int sender) {
    std::vector<std::byte> all(bytes + 2 * kGuard, kPoison);
    const std::vector<std::byte> data = content(bytes, static_cast<unsigned>(sender));
    std::copy(data.begin(), data.end(), all.begin() + kGuard);
    return all;
  }
  static void put(Buffer& buffer, const std::vector<std::byte>& bytes, bool device_touches) {
    if (device_touches && buffer.kind() == MemoryKind::kManaged) {
      gpu::copy(buffer.get(), bytes.data(), bytes.size());
    } else {
      buffer.put(bytes);
    }
  }

  int rank_, next_, before_;
  Counts& counts_;
};

class Collectives {
 public:
  explicit Collectives(const check::Environment& mpi) : rank_(mpi.rank), size_(mpi.size) {}

  // Exchanges `each` ints per rank; the blocks of the v-form are not adjacent.
  void all(int each) {
    allreduce(each);
    allgather(each);
    alltoallv(each, 0);
    alltoallv(each, 3);
    gatherv(each);
    bcast(each);
    in_place(each);
  }

 private:
  [[nodiscard]] int value(int rank, int i) const { return rank * 100003 + i * 7 + 1; }
  [[nodiscard]] std::vector<int> own(int each) const {
    std::vector<int> values(static_cast<std::size_t>(each));
    for (int i = 0; i < each; ++i) values[static_cast<std::size_t>(i)] = value(rank_, i);
    return values;
  }
  static Buffer& filled(Buffer& buffer, const std::vector<int>& values) {
    buffer.put(values);
    return buffer;
  }
  [[nodiscard]] std::vector<int> sums(int each) const {
    std::vector<int> wanted(static_cast<std::size_t>(each), 0);
    for (int rank = 0; rank < size_; ++rank) {
      for (int i = 0; i < each; ++i) wanted[static_cast<std::size_t>(i)] += value(rank, i);
    }
    return wanted;
  }
  static std::size_t bytes(int ints) { return static_cast<std::size_t>(ints) * sizeof(int); }

  void allreduce(int each) {
    Buffer send(bytes(each), MemoryKind::kDevice), receive(bytes(each), MemoryKind::kDevice);
    filled(send, own(each));
    filled(receive, std::vector<int>(static_cast<std::size_t>(each), -1));
    CHECK_OK(MPI_Allreduce(send.get(), receive.get(), each, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(receive.take<int>() == sums(each));
  }
  void in_place(int each) {
    Buffer vector(bytes(each), MemoryKind::kDevice);
    filled(vector, own(each));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Iallreduce(MPI_IN_PLACE, vector.get(), each, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(vector.take<int>() == sums(each));
  }
  void allgather(int each) {
    Buffer send(bytes(each), MemoryKind::kDevice), receive(bytes(each * size_), MemoryKind::kDevice);
    filled(send, own(each));
    filled(receive, std::vector<int>(static_cast<std::size_t>(each * size_), -1));
    CHECK_OK(MPI_Allgather(send.get(), each, MPI_INT, receive.get(), each, MPI_INT, MPI_COMM_WORLD));
    const std::vector<int> got = receive.take<int>();
    for (int i = 0; i < each * size_; ++i) CHECK(got[static_cast<std::size_t>(i)] == value(i / each, i % each));
  }
  void alltoallv(int each, int gap) {
    const int stride = each + gap;
    std::vector<int> counts(static_cast<std::size_t>(size_), each), displacements;
    for (int i = 0; i < size_; ++i) displacements.push_back((size_ - 1 - i) * stride);  // the last block first
    Buffer send(bytes(stride * size_), MemoryKind::kDevice), receive(bytes(stride * size_), MemoryKind::kDevice);
    std::vector<int> values(static_cast<std::size_t>(stride * size_), -2);
    for (int to = 0; to < size_; ++to) {
      for (int i = 0; i < each; ++i)
        values[static_cast<std::size_t>((size_ - 1 - to) * stride + i)] = value(rank_ + to, i);
    }
    filled(send, values);
    filled(receive, std::vector<int>(values.size(), -1));
    CHECK_OK(MPI_Alltoallv(send.get(), counts.data(), displacements.data(), MPI_INT, receive.get(), counts.data(),
                           displacements.data(), MPI_INT, MPI_COMM_WORLD));
    const std::vector<int> got = receive.take<int>();
    for (int block = 0; block < size_; ++block) {
      const int from = size_ - 1 - block;
      for (int i = 0; i < stride; ++i) {
        CHECK(got[static_cast<std::size_t>(block * stride + i)] == (i < each ? value(from + rank_, i) : -1));
      }
    }
  }
  void gatherv(int each) {
    const int stride = each + 1;
    std::vector<int> counts(static_cast<std::size_t>(size_), each), displacements;
    for (int i = 0; i < size_; ++i) displacements.push_back(i * stride);
    Buffer send(bytes(each), MemoryKind::kDevice), receive(bytes(stride * size_), MemoryKind::kDevice);
    filled(send, own(each));
    filled(receive, std::vector<int>(static_cast<std::size_t>(stride * size_), -1));
    CHECK_OK(MPI_Gatherv(send.get(), each, MPI_INT, receive.get(), counts.data(), displacements.data(), MPI_INT, 0,
                         MPI_COMM_WORLD));
    const std::vector<int> got = receive.take<int>();
    for (int i = 0; i < stride * size_; ++i) {
      const bool data = rank_ == 0 && i % stride < each;
      CHECK(got[static_cast<std::size_t>(i)] == (data ? value(i / stride, i % stride) : -1));
    }
  }
  void bcast(int each) {
    Buffer buffer(bytes(each), MemoryKind::kDevice);
    std::vector<int> wanted = own(each);
    for (int i = 0; i < each; ++i) wanted[static_cast<std::size_t>(i)] = value(size_ - 1, i);
    filled(buffer, rank_ == size_ - 1 ? wanted : std::vector<int>(wanted.size(), -1));
    CHECK_OK(MPI_Bcast(buffer.get(), each, MPI_INT, size_ - 1, MPI_COMM_WORLD));
    CHECK(buffer.take<int>() == wanted);
  }

  int rank_, size_;
};

void messages(Ring& ring, const std::string& expected, std::mt19937_64& numbers) {
  const MemoryKind kinds[] = {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kVmm};
  (void)ring.shift(100, MemoryKind::kDevice, MemoryKind::kDevice, true);  // connects them
  std::vector<std::size_t> sizes = {1, 2, 3, 5, 8, 63, 4095, 32767, 32768, 70001, 1 << 20};
  for (int i = 0; i < 20; ++i) sizes.push_back(1 + numbers() % (std::size_t{1} << 16));
  for (const std::size_t bytes : sizes) {
    const MemoryKind from = kinds[numbers() % 3];
    const unsigned long long staged = ring.shift(bytes, from, kinds[numbers() % 3], true);
    const unsigned long long straight = ring.shift(bytes, MemoryKind::kDevice, MemoryKind::kDevice, true);
    if (expected == "pinned") CHECK(straight == 1);
    if (expected == "direct") CHECK(straight == 0);
    (void)staged;  // pools are staged anyhow, or go eagerly
    (void)ring.shift(bytes, MemoryKind::kHost, MemoryKind::kDevice, true);
    (void)ring.shift(bytes, MemoryKind::kDevice, MemoryKind::kHost, true);
  }
  // Pinned memory needs no staging, unless the receiver is making a copy for its own message: the default stream
  // counts as busy then, as the streams of the library are blocking ones.
  CHECK(ring.shift(1 << 20, MemoryKind::kHostPinned, MemoryKind::kDevice, true, true) == 0);
  if (expected == "direct") CHECK(ring.shift(1 << 20, MemoryKind::kDevice, MemoryKind::kHostPinned, true, true) == 0);
}

// The device accessed the memory last, so its pages need not migrate to the host. Those of short messages do if kernels
// are time-sliced.
void managed(Ring& ring, const std::string& expected) {
  constexpr std::size_t kLong = 600000, kMiddle = 100000;
  const MemoryKind kind = MemoryKind::kManaged;
  const unsigned long long by_device = ring.shift(kLong, kind, kind, true);
  const unsigned long long by_host = ring.shift(kLong, kind, kind, false);
  const unsigned long long middle = ring.shift(kMiddle, kind, kind, true);
  if (expected == "any") return;
  CHECK(by_device == 1);
  CHECK(by_host == 0);
  CHECK(middle == (expected == "direct" ? 1U : 0U));
}

void collectives(const check::Environment& mpi, Counts& counts, const std::string& expected) {
  Collectives operations(mpi);
  for (int i = 0; i < 20; ++i) operations.all(5);  // repeats until all have agreed on the algorithm
  counts.reset();
  // Short collectives go through pinned memory in any case, if all members know their size.
  for (const int each : {1, 3, 100}) operations.all(each);
  unsigned long long pinned = counts.pinned.value(), devices = counts.devices.value();
  if (expected == "pinned") CHECK(pinned == 3 * 7 && devices == 0);
  if (expected == "direct") CHECK(pinned == 3 * 4 && devices == 3 * 3);
  operations.all(2100);  // the first long one of each kind exchanges addresses, and detects that the device is shared
  counts.reset();
  unsigned long long gathers = 0;  // that are too long for pinned memory
  for (const int each : {2100, 3000, 5003, 8001}) {
    operations.all(each);
    gathers += static_cast<std::size_t>(each * mpi.size) * sizeof(int) > kMostPinned ? 1 : 0;
  }
  pinned = counts.pinned.value(), devices = counts.devices.value();
  if (expected == "pinned") CHECK(pinned == 4 * 7 - gathers && devices == gathers);
  if (expected == "direct") CHECK(pinned == 0 && devices == 4 * 7);
  operations.all(300000);  // too long for pinned memory
  if (expected == "pinned") CHECK(counts.devices.value() > 0);
}

// The device accesses holes in a managed receive buffer after a gather into it has started, so that its pages migrate.
void migrating(const check::Environment& mpi) {
  constexpr int kEach = 1 << 17, kRounds = 24;  // long enough to stay on the device; until the ranks share memory
  constexpr std::size_t kInts = 2 * std::size_t{kEach};
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
  CHECK_OK(MPI_Type_commit(&spread));
  const auto size = static_cast<std::size_t>(mpi.size);
  std::vector<int> counts(size, kEach), displacements(size);
  for (int rank = 0; rank < mpi.size; ++rank) displacements[static_cast<std::size_t>(rank)] = rank * kEach;
  Buffer send(kInts * sizeof(int), MemoryKind::kDevice), receive(size * kInts * sizeof(int), MemoryKind::kManaged);
  send.put(std::vector<int>(kInts, mpi.rank + 1));
  for (int round = 0; round < kRounds; ++round) {
    receive.put(std::vector<int>(size * kInts, -1));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Igatherv(send.get(), kEach, spread, receive.get(), counts.data(), displacements.data(), spread, 0,
                          MPI_COMM_WORLD, &request));
    for (std::size_t i = 1; i < kInts; i += 1024) gpu::fill(receive.bytes() + i * sizeof(int), 0xff, sizeof(int));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    const std::vector<int> got = receive.take<int>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i] == (mpi.rank == 0 && i % 2 == 0 ? static_cast<int>(i / kInts) + 1 : -1));
    }
  }
  CHECK_OK(MPI_Type_free(&spread));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  std::uint64_t seed = 1;
  std::string expected = "any";
  for (int option = argc > 1 && std::string(argv[1]) == "all" ? 2 : 1; option + 1 < argc; option += 2) {
    const std::string name = argv[option], value = argv[option + 1];
    if (name == "--seed") {
      seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--expect") {
      expected = value;
    } else {
      check::fail(__FILE__, __LINE__, "unknown option " + name);
    }
  }
  if (mpi.rank == 0) std::printf("time_sliced: seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 numbers(seed);  // the same seed on all ranks
  Counts counts;
  Ring ring(mpi, counts);
  messages(ring, expected, numbers);
  managed(ring, expected);
  collectives(mpi, counts, expected);
  migrating(mpi);
  return 0;
}

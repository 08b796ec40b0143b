// Partitioned messages in a ring: a kernel of the sender marks the partitions while it runs, and a kernel of the
// receiver tests for them and checks those that have arrived; afterwards a kernel and the host check everything.
#include <string>

#include "mpi_memory.hpp"
#include "mpix.h"

extern "C" const unsigned char partitioned_kernel_fatbin[];

using hr::test::Buffer;
using hr::test::MemoryKind;

namespace {

constexpr int kStarts = 3;
constexpr std::uint32_t kPoison = 0xA5A5A5A5u;
constexpr unsigned kNotSeen = 0xFFFFFFFFu;
constexpr unsigned kAsks = 20000;

struct Shape {
  int send_partitions, receive_partitions;
  unsigned unit;  // elements are a multiple of all three
};

std::uint32_t item(std::uint32_t seed, unsigned i) { return seed * 2654435761u + i * 2246822519u; }

std::uint32_t seed_of(int rank, int start) { return static_cast<std::uint32_t>(rank * 1000 + start + 1); }

class Ring {
 public:
  Ring(const check::Environment& mpi, const gpu::Module& module)
      : rank_(mpi.rank),
        next_((mpi.rank + 1) % mpi.size),
        before_((mpi.rank + mpi.size - 1) % mpi.size),
        produce_(module.function("partitioned_produce")),
        consume_(module.function("partitioned_consume")) {}

  void run(const Shape& shape, MemoryKind send_kind, MemoryKind receive_kind) {
    const auto sends = static_cast<unsigned>(shape.send_partitions);
    const auto receives = static_cast<unsigned>(shape.receive_partitions);
    const unsigned elements = sends * receives * shape.unit;
    const std::size_t bytes = elements * sizeof(std::uint32_t);
    Buffer from(bytes, send_kind), to(bytes, receive_kind);
    Buffer wrong(receives * sizeof(unsigned), MemoryKind::kDevice);
    MPI_Request requests[2];
    CHECK_OK(MPI_Psend_init(from.get(), shape.send_partitions, elements / sends, MPI_UINT32_T, next_, 3, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &requests[0]));
    CHECK_OK(MPI_Precv_init(to.get(), shape.receive_partitions, elements / receives, MPI_UINT32_T, before_, 3,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    MPIX_Prequest marks, asks;
    CHECK_OK(MPIX_Prequest_create(requests[0], &marks));
    CHECK_OK(MPIX_Prequest_create(requests[1], &asks));
    CHECK(marks.partitions == shape.send_partitions && asks.partitions == shape.receive_partitions);
    const auto consume = [&](int start, unsigned times) {
      gpu::launch(consume_, {receives}, {1}, consumed_, static_cast<std::uint32_t*>(to.get()), elements / receives,
                  seed_of(before_, start), static_cast<unsigned*>(wrong.get()), times, asks);
    };
    for (int start = 0; start < kStarts; ++start) {
      to.put(std::vector<std::uint32_t>(elements, kPoison));
      wrong.put(std::vector<unsigned>(receives, kNotSeen));
      CHECK_OK(MPI_Startall(2, requests));
      consume(start, kAsks);
      gpu::launch(produce_, {sends}, {64}, produced_, static_cast<std::uint32_t*>(from.get()), elements / sends,
                  seed_of(rank_, start), marks);
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      gpu::synchronize();
      check_counts(to.kind(), wrong, false);
      consume(start, 0);
      gpu::synchronize();
      check_counts(to.kind(), wrong, true);
      check_elements(to, seed_of(before_, start));
    }
    CHECK_OK(MPIX_Prequest_free(&marks));
    CHECK_OK(MPIX_Prequest_free(&asks));
    CHECK_OK(MPI_Request_free(&requests[0]));
    CHECK_OK(MPI_Request_free(&requests[1]));
  }

 private:
  static void check_elements(const Buffer& to, std::uint32_t seed) {
    const std::vector<std::uint32_t> got = to.take<std::uint32_t>();
    for (unsigned i = 0; i < got.size(); ++i) {
      if (got[i] == item(seed, i)) continue;
      check::fail(__FILE__, __LINE__,
                  "element " + std::to_string(i) + " of " + std::to_string(got.size()) + " in " +
                      hr::test::name_of(to.kind()) + " memory is " + std::to_string(got[i]));
    }
  }

  static void check_counts(MemoryKind kind, const Buffer& wrong, bool all_seen) {
    const std::vector<unsigned> counts = wrong.take<unsigned>();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0 || (counts[i] == kNotSeen && !all_seen)) continue;
      check::fail(__FILE__, __LINE__,
                  "partition " + std::to_string(i) + " of " + std::to_string(counts.size()) + " in " +
                      hr::test::name_of(kind) + " memory: the kernel counts " + std::to_string(counts[i]) +
                      " wrong elements");
    }
  }

  int rank_, next_, before_;
  gpu::Function produce_, consume_;
  // Work of the library must not wait for the kernels.
  gpu::Stream produced_ = gpu::create_stream(true), consumed_ = gpu::create_stream(true);
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  const gpu::Module module(partitioned_kernel_fatbin);
  Ring ring(mpi, module);
  const MemoryKind kinds[] = {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kVmm, MemoryKind::kHostPinned};
  for (const Shape& shape : {Shape{1, 1, 5}, Shape{4, 4, 1000}, Shape{7, 3, 11}, Shape{16, 2, 4096}}) {
    for (const MemoryKind send : kinds) {
      for (const MemoryKind receive : kinds) ring.run(shape, send, receive);
    }
  }
  return 0;
}

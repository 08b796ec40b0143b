// Non-blocking collectives on device buffers return before they have copied them, even the first ones on a
// communicator: the copies that such a call makes itself, of its own block and of a vector with holes, are pending when
// it returns.
#include <algorithm>
#include <functional>

#include "mpi_memory.hpp"

using hr::test::Buffer;
using hr::test::MemoryKind;

namespace {

constexpr int kBlock = 1 << 18;  // integers
constexpr int kPoison = -77777777;

using Ints = std::vector<int>;

int item(int from, int to, int i) { return from * 1000003 + to * 10007 + i % 977; }

struct Rank {
  int rank, size;
};

// Blocks [0, size) of a buffer.
Ints blocks(const Rank& r, const std::function<int(int block, int i)>& value) {
  Ints made;
  for (int block = 0; block < r.size; ++block) {
    for (int i = 0; i < kBlock; ++i) made.push_back(value(block, i));
  }
  return made;
}

bool untouched(const Buffer& buffer) {
  const Ints now = buffer.take<int>();
  return std::all_of(now.begin(), now.end(), [](int i) { return i == kPoison; });
}

void own_blocks(const Rank& r) {
  const auto bytes = static_cast<std::size_t>(kBlock * r.size) * sizeof(int);
  Buffer send(bytes, MemoryKind::kDevice);
  Buffer recv(bytes, MemoryKind::kDevice);
  for (int operation = 0; operation < 4; ++operation) {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));  // first collective on the communicator
    send.put(blocks(r, [&](int block, int i) { return item(r.rank, block, i); }));
    recv.put(Ints(static_cast<std::size_t>(kBlock * r.size), kPoison));
    MPI_Request request = MPI_REQUEST_NULL;
    if (operation == 0)
      CHECK_OK(MPI_Iallgather(send.get(), kBlock, MPI_INT, recv.get(), kBlock, MPI_INT, comm, &request));
    if (operation == 1)
      CHECK_OK(MPI_Ialltoall(send.get(), kBlock, MPI_INT, recv.get(), kBlock, MPI_INT, comm, &request));
    if (operation == 2)
      CHECK_OK(MPI_Igather(send.get(), kBlock, MPI_INT, recv.get(), kBlock, MPI_INT, 0, comm, &request));
    if (operation == 3)
      CHECK_OK(MPI_Iscatter(send.get(), kBlock, MPI_INT, recv.get(), kBlock, MPI_INT, 0, comm, &request));
    CHECK(untouched(recv));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    const Ints wanted = blocks(r, [&](int block, int i) {
      if (operation == 3) return block == 0 ? item(0, r.rank, i) : kPoison;
      if (operation == 2 && r.rank != 0) return kPoison;
      return item(block, operation == 1 ? r.rank : 0, i);
    });
    CHECK(recv.take<int>() == wanted);
    CHECK_OK(MPI_Comm_free(&comm));
  }
}

void add_pairs(void* in, void* inout, int* length, MPI_Datatype*) {
  // Each element consists of two integers, the second of which is a hole.
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[2 * i] += static_cast<int*>(in)[2 * i];
}

// Reduced on the host: the vector is copied with its holes. The test changes the vector after the call has returned,
// which a program may not do, to see when it was copied.
void vectors_with_holes(const Rank& r) {
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced));
  CHECK_OK(MPI_Type_commit(&spaced));
  MPI_Op op = MPI_OP_NULL;
  CHECK_OK(MPI_Op_create(&add_pairs, 1, &op));
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const std::size_t count = 2 * kBlock;
  Buffer send(count * sizeof(int), MemoryKind::kDevice);
  Buffer recv(count * sizeof(int), MemoryKind::kDevice);
  send.put(Ints(count, 1));
  recv.put(Ints(count, kPoison));
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Iallreduce(send.get(), recv.get(), kBlock, spaced, op, comm, &request));
  send.put(Ints(count, 3 + r.rank));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  const Ints got = recv.take<int>();
  const int sum = 3 * r.size + r.size * (r.size - 1) / 2;
  for (std::size_t i = 0; i < count; ++i) CHECK_EQ(got[i], i % 2 == 0 ? sum : kPoison);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Type_free(&spaced));
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  const Rank rank{mpi.rank, mpi.size};
  own_blocks(rank);
  vectors_with_holes(rank);
  return 0;
}

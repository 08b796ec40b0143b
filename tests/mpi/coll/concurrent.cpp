// Many pending collectives at once, on one communicator and on several, with point-to-point messages between them and
// objects freed while they are in use; completed in a different order from that in which they were started.
#include <algorithm>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

constexpr int kCount = 300;
using Ints = std::vector<int>;

struct Pending {
  int kind = 0;
  int round = 0;
  int root = 0;
  Ints send, recv;
};

void start(Pending& p, MPI_Comm comm, int rank, int size, MPI_Request* request) {
  const auto all = static_cast<std::size_t>(kCount * size);
  p.send.assign(all, 0);
  p.recv.assign(all, kPoison);
  for (std::size_t i = 0; i < all; ++i) p.send[i] = p.round * 1000 + rank + static_cast<int>(i);
  switch (p.kind) {
    case 0:
      CHECK_OK(MPI_Iallreduce(p.send.data(), p.recv.data(), kCount, MPI_INT, MPI_SUM, comm, request));
      break;
    case 1:
      if (rank == p.root) p.recv = p.send;
      CHECK_OK(MPI_Ibcast(p.recv.data(), kCount, MPI_INT, p.root, comm, request));
      break;
    case 2:
      CHECK_OK(MPI_Ialltoall(p.send.data(), kCount, MPI_INT, p.recv.data(), kCount, MPI_INT, comm, request));
      break;
    case 3:
      CHECK_OK(MPI_Iallgather(p.send.data(), kCount, MPI_INT, p.recv.data(), kCount, MPI_INT, comm, request));
      break;
    default:
      CHECK_OK(MPI_Ibarrier(comm, request));
  }
}

void verify(const Pending& p, int rank, int size) {
  for (int k = 0; k < kCount; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (p.kind == 0) CHECK_EQ(p.recv[at], size * (p.round * 1000 + k) + size * (size - 1) / 2);
    if (p.kind == 1) CHECK_EQ(p.recv[at], p.round * 1000 + p.root + k);
    for (int i = 0; i < size && p.kind == 2; ++i) {
      CHECK_EQ(p.recv[static_cast<std::size_t>(i * kCount + k)], p.round * 1000 + i + rank * kCount + k);
    }
    for (int i = 0; i < size && p.kind == 3; ++i)
      CHECK_EQ(p.recv[static_cast<std::size_t>(i * kCount + k)], p.round * 1000 + i + k);
  }
}

void many(MPI_Comm world, const check::Environment& mpi, Choices& choices) {
  constexpr std::size_t kMany = 40;
  MPI_Comm second = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(world, &second));
  std::vector<Pending> pending(kMany);
  std::vector<MPI_Request> requests(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    pending[i].kind = choices.below(5);
    pending[i].round = static_cast<int>(i);
    pending[i].root = choices.below(mpi.size);
    start(pending[i], choices.flip() ? world : second, mpi.rank, mpi.size, &requests[i]);
    // A receive of the program with any tag must not match the messages of collectives.
    if (i % 8 == 0) {
      int got = kPoison;
      MPI_Status status;
      CHECK_OK(MPI_Sendrecv(&mpi.rank, 1, MPI_INT, (mpi.rank + 1) % mpi.size, static_cast<int>(i), &got, 1, MPI_INT,
                            MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status));
      CHECK_EQ(got, (mpi.rank + mpi.size - 1) % mpi.size);
      CHECK_EQ(status.MPI_TAG, static_cast<int>(i));
    }
  }
  CHECK_OK(MPI_Comm_free(&second));
  // Each rank waits in its own order.
  for (std::size_t done = 0; done < kMany; ++done) {
    const std::size_t i = (done * 7 + static_cast<std::size_t>(mpi.rank) * 3) % kMany;
    CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    verify(pending[i], mpi.rank, mpi.size);
  }
}

// Persistent collectives are started in a different order on every rank, and together.
void persistent(MPI_Comm comm, const check::Environment& mpi) {
  constexpr int kMany = 6;
  std::vector<Ints> send(kMany, Ints(kCount));
  std::vector<Ints> recv(kMany, Ints(kCount, kPoison));
  std::vector<MPI_Request> requests(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    CHECK_OK(MPI_Allreduce_init(send[i].data(), recv[i].data(), kCount, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL,
                                &requests[i]));
  }
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < kMany; ++i) {
      for (std::size_t k = 0; k < kCount; ++k) send[i][k] = round * 100 + mpi.rank + static_cast<int>(i * 7 + k);
    }
    CHECK_OK(MPI_Startall(kMany, requests.data()));
    CHECK_OK(MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE));
    for (std::size_t i = 0; i < kMany; ++i) {
      for (std::size_t k = 0; k < kCount; ++k)
        CHECK_EQ(recv[i][k], round * 100 + mpi.size - 1 + static_cast<int>(i * 7 + k));
    }
  }
  for (MPI_Request& request : requests) CHECK_OK(MPI_Request_free(&request));
}

void twice(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

// Types and operations may be freed while they are in use (sections 5.1.9, 6.12).
void freed_while_pending(MPI_Comm comm, const check::Environment& mpi) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Op_create(twice, 1, &op));
  CHECK_OK(MPI_Type_vector(kCount, 1, 2, MPI_INT, &pair));
  CHECK_OK(MPI_Type_commit(&pair));
  Ints send(kCount, mpi.rank);
  Ints recv(kCount, kPoison);
  Ints wide(2 * kCount, mpi.rank == 0 ? 5 : kPoison);
  MPI_Request requests[2];
  CHECK_OK(MPI_Iallreduce(send.data(), recv.data(), kCount, MPI_INT, op, comm, &requests[0]));
  CHECK_OK(MPI_Ibcast(wide.data(), 1, pair, 0, comm, &requests[1]));
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Type_free(&pair));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int k = 0; k < kCount; ++k) {
    CHECK_EQ(recv[static_cast<std::size_t>(k)], mpi.size * (mpi.size - 1) / 2);
    CHECK_EQ(wide[static_cast<std::size_t>(2 * k)], 5);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  Choices choices;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int repeat = 0; repeat < 5; ++repeat) {
    many(comm, mpi, choices);
    persistent(comm, mpi);
    freed_while_pending(comm, mpi);
  }
  CHECK_OK(MPI_Comm_free(&comm));
  return 0;
}

// One block of a v-form is longer than its receiver expects: only the receiver gets an error, and all other blocks
// arrive, short and long ones. A block that is shorter than its receiver expects is no error.
#include <algorithm>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

constexpr int kLong = 200000;
constexpr unsigned char kUntouched = 0xa5;

unsigned char byte_of(int source, int target, int at) {
  return static_cast<unsigned char>(value(0, source, target, at >> 3, at & 7));
}

// Ranks 0 and 2 exchange a long block, all others short ones.
int length_of(int source, int target) { return source + target == 2 && source != target ? kLong : 8; }

std::vector<int> places_of(const std::vector<int>& counts) {
  std::vector<int> places(counts.size(), 0);
  for (std::size_t i = 1; i < counts.size(); ++i) places[i] = places[i - 1] + counts[i - 1];
  return places;
}

// Exchanges blocks, of which rank 0 expects `expected` bytes from rank 1 and gets 8.
void exchange(const check::Environment& mpi, MPI_Comm comm, int expected, bool gather) {
  const int own = mpi.rank;
  std::vector<int> out(static_cast<std::size_t>(mpi.size));
  std::vector<int> in(out.size());
  for (int rank = 0; rank < mpi.size; ++rank) {
    out[static_cast<std::size_t>(rank)] = length_of(own, rank);
    in[static_cast<std::size_t>(rank)] = own == 0 && rank == 1 ? expected : length_of(rank, own);
  }
  const std::vector<int> to = places_of(out);
  const std::vector<int> from = places_of(in);
  std::vector<unsigned char> send(static_cast<std::size_t>(to.back() + out.back()));
  std::vector<unsigned char> recv(static_cast<std::size_t>(from.back() + in.back()), kUntouched);
  for (int rank = 0; rank < mpi.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    for (int i = 0; i < out[at]; ++i) send[static_cast<std::size_t>(to[at] + i)] = byte_of(own, rank, i);
  }
  const bool root = own == 0;
  const int done = gather
                       ? MPI_Gatherv(&send[0], out[0], MPI_BYTE, recv.data(), in.data(), from.data(), MPI_BYTE, 0, comm)
                       : MPI_Alltoallv(send.data(), out.data(), to.data(), MPI_BYTE, recv.data(), in.data(),
                                       from.data(), MPI_BYTE, comm);
  int error_class = MPI_SUCCESS;
  CHECK_OK(MPI_Error_class(done, &error_class));
  CHECK_EQ(error_class, root && expected < 8 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  if (gather && !root) return;
  for (int rank = 0; rank < mpi.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const bool differs = root && rank == 1;
    if (differs && expected < 8) continue;
    for (int i = 0; i < in[at]; ++i) {
      const unsigned char right = differs && i >= 8 ? kUntouched : byte_of(rank, own, i);
      CHECK_EQ(static_cast<int>(recv[static_cast<std::size_t>(from[at] + i)]), static_cast<int>(right));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  // The first calls of a communicator use messages.
  for (int call = 0; call < 12; ++call) {
    for (const int expected : {4, 8, 16}) {
      exchange(mpi, comm, expected, false);
      exchange(mpi, comm, expected, true);
    }
  }
  CHECK_OK(MPI_Comm_free(&comm));
  return 0;
}

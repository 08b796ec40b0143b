// The large-count forms: types of more than 2^31 elements and bytes, their sizes and extents through 64-bit queries,
// MPI_UNDEFINED through 32-bit ones, and messages with every _c function.
#include <vector>

#include "common/check.hpp"

namespace {

constexpr MPI_Count kHuge = (MPI_Count{3} << 31) + 5;

void types() {
  MPI_Datatype type;
  CHECK_OK(MPI_Type_contiguous_c(kHuge, MPI_INT, &type));
  MPI_Count size = 0, lower = 0, extent = 0;
  CHECK_OK(MPI_Type_size_c(type, &size));
  CHECK_EQ(size, kHuge * 4);
  CHECK_OK(MPI_Type_get_extent_c(type, &lower, &extent));
  CHECK_EQ(lower, 0);
  CHECK_EQ(extent, kHuge * 4);
  CHECK_OK(MPI_Type_get_true_extent_c(type, &lower, &extent));
  CHECK_EQ(extent, kHuge * 4);
  int narrow = 0;
  CHECK_OK(MPI_Type_size(type, &narrow));
  CHECK_EQ(narrow, MPI_UNDEFINED);
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
  int combiner = 0;
  CHECK_OK(MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &datatypes, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_CONTIGUOUS);
  CHECK_EQ(counts, 1);
  CHECK_EQ(datatypes, 1);
  MPI_Count count = 0;
  MPI_Datatype inner;
  CHECK_OK(MPI_Type_get_contents_c(type, 0, 0, 1, 1, nullptr, nullptr, &count, &inner));
  CHECK_EQ(count, kHuge);
  CHECK(inner == MPI_INT);
  CHECK_OK(MPI_Type_free(&type));

  CHECK_OK(MPI_Type_vector_c(2, 3, kHuge, MPI_CHAR, &type));
  CHECK_OK(MPI_Type_get_extent_c(type, &lower, &extent));
  CHECK_EQ(extent, kHuge + 3);
  CHECK_OK(MPI_Type_size_c(type, &size));
  CHECK_EQ(size, 6);
  CHECK_OK(MPI_Type_free(&type));
}

void messages(const check::Environment& mpi) {
  const int peer = mpi.size - 1 - mpi.rank;
  std::vector<int> out(1000, mpi.rank), in(1000, -1);
  MPI_Status status;
  MPI_Request requests[2];
  CHECK_OK(MPI_Irecv_c(in.data(), 1000, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Isend_c(out.data(), 1000, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[1]));
  MPI_Status both[2];
  CHECK_OK(MPI_Waitall(2, requests, both));
  MPI_Count count = 0;
  CHECK_OK(MPI_Get_count_c(&both[0], MPI_INT, &count));
  CHECK_EQ(count, 1000);
  for (const int value : in) CHECK_EQ(value, peer);
  CHECK_OK(
      MPI_Sendrecv_c(out.data(), 1000, MPI_INT, peer, 2, in.data(), 1000, MPI_INT, peer, 2, MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Sendrecv_replace_c(in.data(), 1000, MPI_INT, peer, 3, peer, 3, MPI_COMM_WORLD, &status));
  for (const int value : in) CHECK_EQ(value, mpi.rank);
  CHECK_OK(MPI_Send_init_c(out.data(), 1000, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Recv_init_c(in.data(), 1000, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Startall(2, requests));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (const int value : in) CHECK_EQ(value, peer);
  CHECK_OK(MPI_Request_free(&requests[0]));
  CHECK_OK(MPI_Request_free(&requests[1]));
  std::vector<int> sum(1000);
  CHECK_OK(MPI_Allreduce_c(out.data(), sum.data(), 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum[999], mpi.size * (mpi.size - 1) / 2);
  CHECK_OK(MPI_Bcast_c(sum.data(), 1000, MPI_INT, 0, MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  types();
  messages(mpi);
}

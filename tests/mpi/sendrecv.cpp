// MPI_Sendrecv, MPI_Sendrecv_replace and their non-blocking forms: in rings, to the process itself, with MPI_PROC_NULL,
// and with different types on the two sides.
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kLengths[] = {0, 1, 15, 1000, 40000, 300000};

void ring(const check::Environment& mpi) {
  const int left = (mpi.rank + mpi.size - 1) % mpi.size, right = (mpi.rank + 1) % mpi.size;
  for (const int length : kLengths) {
    const std::vector<int> out(static_cast<std::size_t>(length), mpi.rank);
    std::vector<int> in(static_cast<std::size_t>(length) + 1, -1);
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(out.data(), length, MPI_INT, right, mpi.rank, in.data(), length + 1, MPI_INT, left, left,
                          MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_SOURCE, left);
    CHECK_EQ(status.MPI_TAG, left);
    int count = -1;
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, length);
    for (int i = 0; i < length; ++i) CHECK_EQ(in[static_cast<std::size_t>(i)], left);
    CHECK_EQ(in.back(), -1);
  }
}

void replace(const check::Environment& mpi) {
  MPI_Datatype pairs;  // two of every three elements
  CHECK_OK(MPI_Type_vector(1, 2, 3, MPI_INT, &pairs));
  MPI_Datatype resized;
  CHECK_OK(MPI_Type_create_resized(pairs, 0, 3 * sizeof(int), &resized));
  CHECK_OK(MPI_Type_commit(&resized));
  const int left = (mpi.rank + mpi.size - 1) % mpi.size, right = (mpi.rank + 1) % mpi.size;
  for (const int length : kLengths) {
    std::vector<int> data(3 * static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = i % 3 == 2 ? -7 : mpi.rank * 10 + static_cast<int>(i % 3);
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv_replace(data.data(), length, resized, right, 1, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_SOURCE, left);
    for (std::size_t i = 0; i < data.size(); ++i) {
      CHECK_EQ(data[i], i % 3 == 2 ? -7 : left * 10 + static_cast<int>(i % 3));
    }
  }
  CHECK_OK(MPI_Type_free(&pairs));
  CHECK_OK(MPI_Type_free(&resized));
}

void nobody(const check::Environment& mpi) {
  int value = mpi.rank, in = -1;
  MPI_Status status;
  CHECK_OK(
      MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK_EQ(in, -1);
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK_EQ(value, mpi.rank);
  // The ranks form an open chain, whose ends have only one neighbour.
  const int right = mpi.rank + 1 < mpi.size ? mpi.rank + 1 : MPI_PROC_NULL;
  const int left = mpi.rank > 0 ? mpi.rank - 1 : MPI_PROC_NULL;
  CHECK_OK(MPI_Sendrecv(&value, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &status));
  CHECK_EQ(in, mpi.rank > 0 ? mpi.rank - 1 : -1);
}

// Columns are received as rows.
void two_layouts(const check::Environment& mpi) {
  constexpr int kEdge = 100;
  std::vector<int> matrix(kEdge * kEdge), column(kEdge, -1);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = mpi.rank * 1000000 + static_cast<int>(i);
  MPI_Datatype type;
  CHECK_OK(MPI_Type_vector(kEdge, 1, kEdge, MPI_INT, &type));
  CHECK_OK(MPI_Type_commit(&type));
  const int peer = mpi.size - 1 - mpi.rank;
  CHECK_OK(MPI_Sendrecv(&matrix[3], 1, type, peer, 0, column.data(), kEdge, MPI_INT, peer, 0, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
  for (int i = 0; i < kEdge; ++i) CHECK_EQ(column[static_cast<std::size_t>(i)], peer * 1000000 + i * kEdge + 3);
  CHECK_OK(MPI_Type_free(&type));
}

// The non-blocking forms of MPI 4.0, several at once.
void non_blocking(const check::Environment& mpi) {
  constexpr int kLength = 30000;
  const int left = (mpi.rank + mpi.size - 1) % mpi.size, right = (mpi.rank + 1) % mpi.size;
  std::vector<int> out(kLength, mpi.rank), in(kLength, -1), both(kLength, mpi.rank + 50);
  MPI_Request requests[2];
  CHECK_OK(MPI_Isendrecv(out.data(), kLength, MPI_INT, right, 1, in.data(), kLength, MPI_INT, left, 1, MPI_COMM_WORLD,
                         &requests[0]));
  CHECK_OK(MPI_Isendrecv_replace(both.data(), kLength, MPI_INT, left, 2, right, 2, MPI_COMM_WORLD, &requests[1]));
  MPI_Status statuses[2];
  CHECK_OK(MPI_Waitall(2, requests, statuses));
  if (check::headrace()) {  // MPICH 5.0.2 returns the status of the send
    CHECK_EQ(statuses[0].MPI_SOURCE, left);
    CHECK_EQ(statuses[1].MPI_SOURCE, right);
  }
  for (const int value : in) CHECK_EQ(value, left);
  for (const int value : both) CHECK_EQ(value, right + 50);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  ring(mpi);
  replace(mpi);
  nobody(mpi);
  two_layouts(mpi);
  non_blocking(mpi);
}

// Wrong arguments that a single process can detect: the error has the right class, and the communicator still works
// afterwards.
#include "coll_test.hpp"

using namespace coll_test;

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));  // for calls without a communicator
  const auto size = static_cast<std::size_t>(mpi.size);
  std::vector<int> a(size * 4);
  std::vector<int> b(size * 4);
  std::vector<int> counts(size, 1);
  std::vector<int> displs(size, 0);
  for (std::size_t i = 0; i < size; ++i) displs[i] = static_cast<int>(i);
  MPI_Request request = MPI_REQUEST_NULL;

  // The same memory for both buffers.
  CHECK_CLASS(MPI_Allreduce(a.data(), a.data(), 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allgather(a.data(), 1, MPI_INT, a.data(), 1, MPI_INT, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Alltoall(a.data(), 1, MPI_INT, a.data(), 1, MPI_INT, comm), MPI_ERR_BUFFER);
  const int* const own = &a[static_cast<std::size_t>(mpi.rank)];
  CHECK_CLASS(MPI_Allgather(own, 1, MPI_INT, a.data(), 1, MPI_INT, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allgatherv(own, 1, MPI_INT, a.data(), counts.data(), displs.data(), MPI_INT, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Alltoallv(a.data(), counts.data(), displs.data(), MPI_INT, a.data(), counts.data(), displs.data(),
                            MPI_INT, comm),
              MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Scan(a.data(), a.data(), 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Iallreduce(a.data(), a.data(), 1, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
  CHECK(check::error_text(MPI_Allreduce(a.data(), a.data(), 1, MPI_INT, MPI_SUM, comm)).size() > 10);
  CHECK_OK(MPI_Allreduce(a.data(), a.data(), 0, MPI_INT, MPI_SUM, comm));

  // MPI_IN_PLACE where that is not allowed.
  CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allreduce(a.data(), MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Gather(a.data(), 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, mpi.rank, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, a.data(), 1, MPI_INT, mpi.rank, comm), MPI_ERR_BUFFER);
  if (mpi.size > 1) {
    const int elsewhere = (mpi.rank + 1) % mpi.size;
    CHECK_CLASS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, a.data(), 1, MPI_INT, elsewhere, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Reduce(MPI_IN_PLACE, a.data(), 1, MPI_INT, MPI_SUM, elsewhere, comm), MPI_ERR_BUFFER);
  }

  // Missing buffers, negative counts, wrong roots, operations that do not apply to the type.
  CHECK_CLASS(MPI_Bcast(nullptr, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(a.data(), -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Bcast(a.data(), 1, MPI_INT, mpi.size, comm), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(a.data(), 1, MPI_INT, -1, comm), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(a.data(), 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Allreduce(a.data(), b.data(), 1, MPI_FLOAT, MPI_BAND, comm), MPI_ERR_OP);
  CHECK_CLASS(MPI_Allreduce(a.data(), b.data(), 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a.data(), b.data(), 1, MPI_DOUBLE, MPI_LXOR), MPI_ERR_OP);
  counts.back() = -3;
  CHECK_CLASS(MPI_Allgatherv(a.data(), 1, MPI_INT, b.data(), counts.data(), displs.data(), MPI_INT, comm),
              MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Alltoallv(a.data(), counts.data(), displs.data(), MPI_INT, b.data(), counts.data(), displs.data(),
                            MPI_INT, comm),
              MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_scatter(a.data(), b.data(), counts.data(), MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
  counts.back() = 1;

  // No neighbors without a topology.
  CHECK_CLASS(MPI_Neighbor_alltoall(a.data(), 1, MPI_INT, b.data(), 1, MPI_INT, comm), MPI_ERR_TOPOLOGY);

  // A receiver with less space than the root has data gets the error from its request.
  if (mpi.size > 1) {
    CHECK_OK(MPI_Ibcast(a.data(), mpi.rank == 1 ? 1 : 2, MPI_INT, 0, comm, &request));
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (mpi.rank == 1) CHECK_EQ(check::error_class(code), MPI_ERR_TRUNCATE);
  }

  for (std::size_t i = 0; i < a.size(); ++i) a[i] = mpi.rank;
  CHECK_OK(MPI_Allgatherv(a.data(), 1, MPI_INT, b.data(), counts.data(), displs.data(), MPI_INT, comm));
  for (std::size_t i = 0; i < size; ++i) CHECK_EQ(b[i], static_cast<int>(i));
  CHECK_OK(MPI_Comm_free(&comm));
  return 0;
}

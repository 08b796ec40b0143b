// Empty buffers at any address, including that of MPI_IN_PLACE, which Rust uses for its empty slices: with a count of
// 0, the address has no significance. Where MPI_IN_PLACE is allowed, it keeps its meaning.
#include <array>
#include <cstdint>
#include <vector>

#include "common/check.hpp"

namespace {

void messages(const check::Environment& mpi, void* nowhere) {
  MPI_Comm world = MPI_COMM_WORLD;
  const int next = (mpi.rank + 1) % mpi.size, previous = (mpi.rank + mpi.size - 1) % mpi.size;
  MPI_Request requests[2];
  MPI_Status status;
  CHECK_OK(MPI_Irecv(nowhere, 0, MPI_INT, previous, 1, world, &requests[0]));
  CHECK_OK(MPI_Isend(nowhere, 0, MPI_INT, next, 1, world, &requests[1]));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_OK(MPI_Sendrecv(nowhere, 0, MPI_BYTE, next, 2, nowhere, 0, MPI_BYTE, previous, 2, world, &status));
  CHECK_OK(MPI_Sendrecv_replace(nowhere, 0, MPI_BYTE, next, 2, previous, 2, world, &status));
  CHECK_OK(MPI_Send_init(nowhere, 0, MPI_INT, next, 3, world, &requests[0]));
  CHECK_OK(MPI_Recv_init(nowhere, 0, MPI_INT, previous, 3, world, &requests[1]));
  CHECK_OK(MPI_Startall(2, requests));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
  CHECK_OK(MPI_Psend_init(nowhere, 1, 0, MPI_INT, next, 4, world, MPI_INFO_NULL, &requests[0]));
  CHECK_OK(MPI_Precv_init(nowhere, 1, 0, MPI_INT, previous, 4, world, MPI_INFO_NULL, &requests[1]));
  CHECK_OK(MPI_Startall(2, requests));
  CHECK_OK(MPI_Pready(0, requests[0]));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));

  char packed[8] = {};
  int position = 0;
  CHECK_OK(MPI_Pack(nowhere, 0, MPI_INT, packed, sizeof packed, &position, world));
  CHECK_OK(MPI_Pack(packed, 0, MPI_BYTE, nowhere, 0, &position, world));
  CHECK_OK(MPI_Unpack(nowhere, 0, &position, nowhere, 0, MPI_INT, world));
  MPI_Aint place = 0;
  CHECK_OK(MPI_Pack_external("external32", nowhere, 0, MPI_INT, nowhere, 0, &place));
  CHECK_OK(MPI_Unpack_external("external32", nowhere, 0, &place, nowhere, 0, MPI_INT));
  CHECK_EQ(position, 0);
}

void collectives(const check::Environment& mpi, void* nowhere) {
  MPI_Comm world = MPI_COMM_WORLD;
  const auto size = static_cast<std::size_t>(mpi.size);
  std::vector<int> counts(size), places(size), in(size, -1), out(size, 5 + mpi.rank);
  counts[0] = 1;
  const bool gives = mpi.rank == 0;
  CHECK_OK(MPI_Bcast(nowhere, 0, MPI_INT, 0, world));
  CHECK_OK(MPI_Allgatherv(gives ? out.data() : nowhere, gives ? 1 : 0, MPI_INT, in.data(), counts.data(), places.data(),
                          MPI_INT, world));
  CHECK_EQ(in[0], 5);
  in[0] = -1;
  CHECK_OK(MPI_Gatherv(gives ? out.data() : nowhere, gives ? 1 : 0, MPI_INT, in.data(), counts.data(), places.data(),
                       MPI_INT, 0, world));
  CHECK_EQ(in[0], gives ? 5 : -1);
  in[0] = -1;
  CHECK_OK(MPI_Scatterv(out.data(), counts.data(), places.data(), MPI_INT, gives ? in.data() : nowhere, gives ? 1 : 0,
                        MPI_INT, 0, world));
  CHECK_EQ(in[0], gives ? 5 : -1);
  CHECK_OK(MPI_Gather(nowhere, 0, MPI_INT, nowhere, 0, MPI_INT, 0, world));
  CHECK_OK(MPI_Scatter(nowhere, 0, MPI_INT, nowhere, 0, MPI_INT, 0, world));
  CHECK_OK(MPI_Allgather(nowhere, 0, MPI_INT, nowhere, 0, MPI_INT, world));
  CHECK_OK(MPI_Alltoall(nowhere, 0, MPI_INT, nowhere, 0, MPI_INT, world));
  CHECK_OK(MPI_Alltoallv(nowhere, places.data(), places.data(), MPI_INT, nowhere, places.data(), places.data(), MPI_INT,
                         world));
  CHECK_OK(MPI_Reduce(nowhere, nowhere, 0, MPI_INT, MPI_SUM, 0, world));
  CHECK_OK(MPI_Allreduce(nowhere, nowhere, 0, MPI_INT, MPI_SUM, world));
  CHECK_OK(MPI_Scan(nowhere, nowhere, 0, MPI_INT, MPI_SUM, world));
  CHECK_OK(MPI_Exscan(nowhere, nowhere, 0, MPI_INT, MPI_SUM, world));
  CHECK_OK(MPI_Reduce_scatter_block(nowhere, nowhere, 0, MPI_INT, MPI_SUM, world));
  // Only rank 0 receives a part of the result.
  CHECK_OK(MPI_Reduce_scatter(out.data(), gives ? in.data() : nowhere, counts.data(), MPI_INT, MPI_MAX, world));
  if (gives) CHECK_EQ(in[0], 5 + mpi.size - 1);
  CHECK_OK(MPI_Reduce_local(nowhere, nowhere, 0, MPI_INT, MPI_SUM));

  MPI_Comm line = MPI_COMM_NULL;
  const int periods = 1;
  CHECK_OK(MPI_Cart_create(world, 1, &mpi.size, &periods, 0, &line));
  const std::array<int, 2> none{};
  CHECK_OK(MPI_Neighbor_allgather(nowhere, 0, MPI_INT, nowhere, 0, MPI_INT, line));
  CHECK_OK(MPI_Neighbor_alltoall(nowhere, 0, MPI_INT, nowhere, 0, MPI_INT, line));
  CHECK_OK(MPI_Neighbor_allgatherv(nowhere, 0, MPI_INT, nowhere, none.data(), none.data(), MPI_INT, line));
  CHECK_OK(MPI_Neighbor_alltoallv(nowhere, none.data(), none.data(), MPI_INT, nowhere, none.data(), none.data(),
                                  MPI_INT, line));
  CHECK_OK(MPI_Comm_free(&line));
}

void windows_and_files(void* nowhere) {
  MPI_Win window = MPI_WIN_NULL;
  CHECK_OK(MPI_Win_create(nowhere, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK_OK(MPI_Put(nowhere, 0, MPI_INT, 0, 0, 0, MPI_INT, window));
  CHECK_OK(MPI_Get(nowhere, 0, MPI_INT, 0, 0, 0, MPI_INT, window));
  CHECK_OK(MPI_Accumulate(nowhere, 0, MPI_INT, 0, 0, 0, MPI_INT, MPI_SUM, window));
  CHECK_OK(MPI_Get_accumulate(nowhere, 0, MPI_INT, nowhere, 0, MPI_INT, 0, 0, 0, MPI_INT, MPI_SUM, window));
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK_OK(MPI_Win_free(&window));
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK_OK(MPI_File_write_at(file, 0, nowhere, 0, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all_begin(file, 0, nowhere, 0, MPI_INT));
  CHECK_OK(MPI_File_read_at_all_end(file, nowhere, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
}

// With data, MPI_IN_PLACE is refused where the standard does not allow it.
void refusals(const check::Environment& mpi) {
  int value = 0;
  std::vector<int> ones(static_cast<std::size_t>(mpi.size), 1), places(ones.size());
  CHECK_CLASS(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allgather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, MPI_COMM_SELF), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allgatherv(&value, 1, MPI_INT, MPI_IN_PLACE, ones.data(), places.data(), MPI_INT, MPI_COMM_SELF),
              MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Reduce_local(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  // In place.
  std::vector<int> all(static_cast<std::size_t>(mpi.size), -1);
  all[static_cast<std::size_t>(mpi.rank)] = mpi.rank;
  CHECK_OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < mpi.size; ++i) CHECK_EQ(all[static_cast<std::size_t>(i)], i);
  value = 1;
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(value, mpi.size);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  for (const std::uintptr_t address : {0, 1, 2, 8, -1}) {
    auto* const nowhere = reinterpret_cast<void*>(address);
    messages(mpi, nowhere);
    collectives(mpi, nowhere);
    windows_and_files(nowhere);
  }
  refusals(mpi);
  return 0;
}

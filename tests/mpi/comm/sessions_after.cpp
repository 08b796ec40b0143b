// A session after MPI_Finalize, with none open before: all processes of the job take part again, and messages,
// collectives and windows work (MPI 5.0 section 11.3). More sessions follow; then some processes have none.
#include "ring.hpp"

namespace {

void use(int round) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "after", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Group_free(&group));
  check::ring(comm, 50 + round);
  int rank = check::rank_in(comm), size = check::size_of(comm), sum = -1;
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQ(sum, size * (size - 1) / 2);
  int* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  CHECK_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &window));
  *memory = -1;
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK_OK(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window));
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK_EQ(*memory, (rank + size - 1) % size);
  CHECK_OK(MPI_Win_free(&window));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Session_finalize(&session));
}

}  // namespace

int main(int argc, char** argv) {
  int rank = -1, size = -1;
  {
    const check::Environment mpi(&argc, &argv);
    rank = mpi.rank;
    size = mpi.size;
    check::ring(MPI_COMM_WORLD, 1);
  }
  int finalized = 0;
  CHECK_OK(MPI_Finalized(&finalized));
  CHECK_EQ(finalized, 1);
  for (int round = 0; round < 3; ++round) use(round);
  // A session of one process: the others do not wait for it.
  MPI_Session session = MPI_SESSION_NULL;
  for (int more = 0; more < rank; ++more) {
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_OK(MPI_Session_finalize(&session));
  }
  if (rank == size - 1) std::printf("all sessions ended\n");
  return 0;
}

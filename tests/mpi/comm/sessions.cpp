// Consecutive sessions, without the world model: objects created in each session work, and do not depend on earlier
// sessions. Processes need not have the same number of sessions.
#include "ring.hpp"

namespace {

struct Session {
  Session() { CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &handle)); }
  ~Session() { CHECK_OK(MPI_Session_finalize(&handle)); }
  Session(const Session&) = delete;
  [[nodiscard]] MPI_Comm comm_of(const char* set, const char* tag) const {
    MPI_Group group;
    MPI_Comm comm;
    CHECK_OK(MPI_Group_from_session_pset(handle, set, &group));
    CHECK_OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    CHECK_OK(MPI_Group_free(&group));
    return comm;
  }
  MPI_Session handle = MPI_SESSION_NULL;
};

int use(int round) {
  const Session session;
  MPI_Comm all = session.comm_of("mpi://WORLD", "sessions");
  check::ring(all, 10 * round);
  const int rank = check::rank_in(all);
  MPI_Comm copy;
  MPI_Comm half;
  CHECK_OK(MPI_Comm_dup(all, &copy));
  CHECK_OK(MPI_Comm_split(all, rank % 2, -rank, &half));
  check::ring(copy, 10 * round + 1);
  check::ring(half, 10 * round + 2);
  int sum = -1;
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy));
  int size = 0;
  CHECK_OK(MPI_Comm_size(all, &size));
  CHECK_EQ(sum, size * (size - 1) / 2);
  for (MPI_Comm* each : {&half, &copy, &all}) CHECK_OK(MPI_Comm_free(each));
  return rank;
}

// Uses a session in this process only: this process and the others do not wait for each other.
void use_alone() {
  const Session session;
  MPI_Comm comm = session.comm_of("mpi://SELF", "alone");
  check::ring(comm, 3);
  CHECK_OK(MPI_Comm_free(&comm));
}

}  // namespace

int main() {
  for (int round = 0; round < 3; ++round) {
    const int rank = use(round);
    for (int more = 0; more < rank; ++more) use_alone();
  }
  // The last process continues longer than the first.
  int initialised = 1;
  CHECK_OK(MPI_Initialized(&initialised));
  CHECK_EQ(initialised, 0);
  return 0;
}

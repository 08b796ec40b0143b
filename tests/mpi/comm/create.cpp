// MPI_Comm_create, MPI_Comm_create_group, MPI_Comm_create_from_group, sessions.
#include <string>
#include <vector>

#include "ring.hpp"

namespace {

// Groups of all ranks except one, for every choice of that rank.
void with_group(const check::Environment& mpi) {
  MPI_Group world = check::group_of(MPI_COMM_WORLD);
  for (int out = 0; out < mpi.size; ++out) {
    MPI_Group group;
    CHECK_OK(MPI_Group_excl(world, 1, &out, &group));
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    if (mpi.rank == out) {
      CHECK(comm == MPI_COMM_NULL);
    } else {
      CHECK_EQ(check::size_of(comm), mpi.size - 1);
      check::ring(comm, out);
      CHECK_OK(MPI_Comm_free(&comm));
    }
    CHECK_OK(MPI_Group_free(&group));
  }
  CHECK_OK(MPI_Group_free(&world));
}

// Different, disjoint groups in one call (section 7.4.2).
void disjoint(const check::Environment& mpi) {
  MPI_Group world = check::group_of(MPI_COMM_WORLD);
  int range[1][3] = {{mpi.rank % 2, mpi.size - 1, 2}};
  MPI_Group group;
  CHECK_OK(MPI_Group_range_incl(world, 1, range, &group));
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
  check::ring(comm, mpi.rank % 2);
  CHECK_OK(MPI_Comm_free(&comm));
  // The same with a separate call for each group.
  CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, mpi.rank % 2, &comm));
  check::ring(comm, mpi.rank % 2 + 2);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Group_free(&world));
}

// Overlapping groups in sequence with one tag: an early member must not disturb the others.
void overlapping(const check::Environment& mpi) {
  MPI_Group world = check::group_of(MPI_COMM_WORLD);
  for (int round = 0; round < 50; ++round) {
    for (int first = 0; first + 1 < mpi.size; ++first) {
      if (mpi.rank != first && mpi.rank != first + 1) continue;
      const int ranks[2] = {first, first + 1};
      MPI_Group group;
      CHECK_OK(MPI_Group_incl(world, 2, ranks, &group));
      MPI_Comm comm;
      CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm));
      check::ring(comm, first);
      CHECK_OK(MPI_Comm_free(&comm));
      CHECK_OK(MPI_Group_free(&group));
    }
  }
  CHECK_OK(MPI_Group_free(&world));
}

void from_session(const check::Environment& mpi) {
  MPI_Session session;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  int sets = 0;
  CHECK_OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
  CHECK(sets >= 2);
  MPI_Group group;
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  for (const std::string tag : {"first", "second", ""}) {
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_create_from_group(group, tag.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_EQ(check::size_of(comm), mpi.size);
    check::ring(comm, static_cast<int>(tag.size()));
    CHECK_OK(MPI_Comm_free(&comm));
  }
  CHECK_OK(MPI_Group_free(&group));
  int length = 0;
  CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr));
  std::vector<char> name(static_cast<std::size_t>(length));
  CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name.data()));
  CHECK_EQ(std::string(name.data()), std::string("mpi://WORLD"));
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  with_group(mpi);
  if (mpi.size > 1) disjoint(mpi);
  overlapping(mpi);
  from_session(mpi);
}

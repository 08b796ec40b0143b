// Intercommunicators: creation, duplication, splitting, MPI_Comm_create on them, and merging.
#include <vector>

#include "ring.hpp"

namespace {

// Exchanges messages with every rank of the other group.
void across(MPI_Comm inter, int value) {
  int remote = 0;
  CHECK_OK(MPI_Comm_remote_size(inter, &remote));
  const int rank = check::rank_in(inter);
  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(remote));
  std::vector<int> in(static_cast<std::size_t>(remote), -1);
  const int out = value * 100 + rank;
  for (int peer = 0; peer < remote; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, peer, value, inter, &requests[2 * i]));
    CHECK_OK(MPI_Isend(&out, 1, MPI_INT, peer, value, inter, &requests[2 * i + 1]));
  }
  CHECK_OK(MPI_Waitall(2 * remote, requests.data(), MPI_STATUSES_IGNORE));
  for (int peer = 0; peer < remote; ++peer) CHECK_EQ(in[static_cast<std::size_t>(peer)], value * 100 + peer);
}

class Halves {
 public:
  explicit Halves(const check::Environment& mpi) : low(mpi.rank < mpi.size / 2) {
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, mpi.rank, &own));
    const int leader = check::size_of(own) - 1;  // not rank 0
    const int remote_leader = low ? mpi.size - 1 : mpi.size / 2 - 1;
    const bool leads = check::rank_in(own) == leader;
    CHECK_OK(MPI_Intercomm_create(own, leader, leads ? MPI_COMM_WORLD : MPI_COMM_NULL, remote_leader, 12, &inter));
  }
  ~Halves() {
    CHECK_OK(MPI_Comm_free(&own));
    CHECK_OK(MPI_Comm_free(&inter));
  }
  Halves(const Halves&) = delete;
  Halves& operator=(const Halves&) = delete;
  bool low;
  MPI_Comm own;
  MPI_Comm inter;
};

void facts(const check::Environment& mpi, const Halves& halves) {
  int flag = 0;
  CHECK_OK(MPI_Comm_test_inter(halves.inter, &flag));
  CHECK_EQ(flag, 1);
  int remote = 0;
  CHECK_OK(MPI_Comm_remote_size(halves.inter, &remote));
  CHECK_EQ(remote, mpi.size - check::size_of(halves.own));
  CHECK_EQ(check::size_of(halves.inter), check::size_of(halves.own));
  CHECK_EQ(check::compare(halves.inter, MPI_COMM_WORLD), MPI_UNEQUAL);
  MPI_Group group;
  CHECK_OK(MPI_Comm_remote_group(halves.inter, &group));
  int rank = 0;
  CHECK_OK(MPI_Group_rank(group, &rank));
  CHECK_EQ(rank, MPI_UNDEFINED);
  CHECK_OK(MPI_Group_free(&group));
  across(halves.inter, 1);
}

void copies(const Halves& halves) {
  MPI_Comm copy;
  CHECK_OK(MPI_Comm_dup(halves.inter, &copy));
  CHECK_EQ(check::compare(copy, halves.inter), MPI_CONGRUENT);
  across(copy, 2);
  MPI_Comm later;
  MPI_Request request;
  CHECK_OK(MPI_Comm_idup(copy, &later, &request));
  CHECK_OK(MPI_Comm_free(&copy));  // while its duplication is pending
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  across(later, 3);
  CHECK_OK(MPI_Comm_free(&later));
}

void merges(const check::Environment& mpi, const Halves& halves) {
  for (const bool low_first : {true, false}) {
    MPI_Comm merged;
    CHECK_OK(MPI_Intercomm_merge(halves.inter, halves.low == low_first ? 0 : 1, &merged));
    CHECK_EQ(check::size_of(merged), mpi.size);
    const int rank = check::rank_in(halves.own);
    int remote = 0;
    CHECK_OK(MPI_Comm_remote_size(halves.inter, &remote));
    CHECK_EQ(check::rank_in(merged), halves.low == low_first ? rank : remote + rank);
    check::ring(merged, 5);
    CHECK_OK(MPI_Comm_free(&merged));
  }
  MPI_Comm merged;
  CHECK_OK(MPI_Intercomm_merge(halves.inter, 1,
                               &merged));  // the same value on both sides: the order is arbitrary, but the same
                                           // everywhere
  check::ring(merged, 6);
  CHECK_OK(MPI_Comm_free(&merged));
}

void parts(const Halves& halves) {
  const int rank = check::rank_in(halves.own);
  MPI_Comm part;
  CHECK_OK(MPI_Comm_split(halves.inter, rank % 2, 0, &part));
  if (part != MPI_COMM_NULL) {
    across(part, 7);
    CHECK_OK(MPI_Comm_free(&part));
  }
  // A color used on only one side yields no communicator.
  CHECK_OK(MPI_Comm_split(halves.inter, halves.low ? 1 : 2, 0, &part));
  CHECK(part == MPI_COMM_NULL);
  // The first process of each group.
  MPI_Group group = check::group_of(halves.inter);
  MPI_Group first;
  const int zero = 0;
  CHECK_OK(MPI_Group_incl(group, 1, &zero, &first));
  CHECK_OK(MPI_Comm_create(halves.inter, first, &part));
  CHECK_EQ(part != MPI_COMM_NULL, rank == 0);
  if (part != MPI_COMM_NULL) {
    across(part, 8);
    CHECK_OK(MPI_Comm_free(&part));
  }
  CHECK_OK(MPI_Group_free(&first));
  CHECK_OK(MPI_Group_free(&group));
}

void from_groups(const check::Environment& mpi) {
  MPI_Group world = check::group_of(MPI_COMM_WORLD);
  const bool low = mpi.rank < mpi.size / 2;
  int ranges[2][1][3] = {{{0, mpi.size / 2 - 1, 1}}, {{mpi.size / 2, mpi.size - 1, 1}}};
  MPI_Group local;
  MPI_Group remote;
  CHECK_OK(MPI_Group_range_incl(world, 1, ranges[low ? 0 : 1], &local));
  CHECK_OK(MPI_Group_range_incl(world, 1, ranges[low ? 1 : 0], &remote));
  MPI_Comm inter;
  CHECK_OK(MPI_Intercomm_create_from_groups(local, 0, remote, 0, "halves", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
  across(inter, 9);
  CHECK_OK(MPI_Comm_disconnect(&inter));
  CHECK(inter == MPI_COMM_NULL);
  CHECK_OK(MPI_Group_free(&local));
  CHECK_OK(MPI_Group_free(&remote));
  CHECK_OK(MPI_Group_free(&world));
}

// A wrong argument on the leader is reported as an error on all processes.
void mistakes(const check::Environment& mpi, const Halves& halves) {
  MPI_Comm comm = halves.own;
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_CLASS(MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, mpi.size, 1, &inter), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Intercomm_create(comm, mpi.size, MPI_COMM_WORLD, 0, 1, &inter), MPI_ERR_RANK);
  MPI_Comm merged;
  CHECK_CLASS(MPI_Intercomm_merge(comm, 0, &merged), MPI_ERR_COMM);
  int size = 0;
  CHECK_CLASS(MPI_Comm_remote_size(comm, &size), MPI_ERR_COMM);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  {
    const Halves halves(mpi);
    facts(mpi, halves);
    copies(halves);
    merges(mpi, halves);
    parts(halves);
    mistakes(mpi, halves);
  }
  from_groups(mpi);
}

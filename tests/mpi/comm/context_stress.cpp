// Contexts are reused, and concurrent agreements of several threads neither deadlock nor assign a context twice.
#include <array>
#include <thread>
#include <vector>

#include "ring.hpp"

namespace {

// Creates more communicators than there are contexts, one at a time.
void dup_and_free() {
  for (int i = 0; i < 10000; ++i) {
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (i % 100 == 0) check::ring(comm, i / 100);
    CHECK_OK(MPI_Comm_free(&comm));
  }
}

// A communicator is freed while a receive on it is pending: the next one must not get its context.
void freed_while_pending(const check::Environment& mpi) {
  const int right = (mpi.rank + 1) % mpi.size;
  const int left = (mpi.rank + mpi.size - 1) % mpi.size;
  for (int i = 0; i < 200; ++i) {
    MPI_Comm first;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
    int in = -1;
    MPI_Request receive;
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, first, &receive));
    MPI_Comm keep = first;
    CHECK_OK(MPI_Comm_free(&first));
    MPI_Comm second;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &second));
    CHECK(second != keep);
    int out = i;
    int wrong = -1;
    MPI_Request other;
    CHECK_OK(MPI_Irecv(&wrong, 1, MPI_INT, left, 0, second, &other));
    CHECK_OK(MPI_Send(&out, 1, MPI_INT, right, 0, second));
    CHECK_OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
    CHECK_EQ(wrong, i);
    CHECK_OK(MPI_Cancel(&receive));
    CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_EQ(in, -1);
    CHECK_OK(MPI_Comm_free(&second));
  }
}

// Threads of a rank create communicators from different ones at once, in different orders on different ranks.
void threads(const check::Environment& mpi) {
  constexpr int kThreads = 4;
  std::array<MPI_Comm, kThreads> parents;
  for (MPI_Comm& parent : parents) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
  std::vector<std::thread> team;
  for (int i = 0; i < kThreads; ++i) {
    team.emplace_back([&, i] {
      const int thread = (i + mpi.rank) % kThreads;
      for (int round = 0; round < 100; ++round) {
        MPI_Comm made;
        if (round % 3 == 0) {
          MPI_Group group = check::group_of(MPI_COMM_WORLD);
          CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, thread, &made));
          CHECK_OK(MPI_Group_free(&group));
        } else if (round % 3 == 1) {
          CHECK_OK(MPI_Comm_dup(parents[thread], &made));
        } else {
          CHECK_OK(MPI_Comm_split(parents[thread], 0, -mpi.rank, &made));
        }
        check::ring(made, thread * 100 + round);
        CHECK_OK(MPI_Comm_free(&made));
      }
    });
  }
  for (std::thread& member : team) member.join();
  for (MPI_Comm& parent : parents) CHECK_OK(MPI_Comm_free(&parent));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2, MPI_THREAD_MULTIPLE);
  dup_and_free();
  freed_while_pending(mpi);
  threads(mpi);
}

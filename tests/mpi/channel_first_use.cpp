// First uses of channels at bad moments, one case per run: two ranks.
#include <mpi-ext.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "common/check.hpp"
#include "common/network.hpp"

namespace {

int rank = 0;

// Exchanges a message with the other rank, so that both are connected.
void exchange(MPI_Comm comm) {
  int in = -1;
  CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 1, &in, 1, MPI_INT, 1 - rank, 1, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(in, 1 - rank);
}

// True if a thread of this process sleeps.
bool sleeps(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.compare(name_end + 2, 1, "S") == 0;
}

MPI_Comm revoked_comm = MPI_COMM_NULL;
std::atomic<bool> is_locked{false};
std::atomic<int> receiver_id{0};

// Error handlers run with the library lock, for which the receiver waits.
void revoke_while_receiver_waits(MPI_Comm* /*comm*/, int* /*code*/, ...) {
  is_locked = true;
  while (receiver_id == 0 || !sleeps(receiver_id)) std::this_thread::yield();
  CHECK_OK(MPIX_Comm_revoke(revoked_comm));
}

// A communicator is revoked after a call has found it valid, and before the call chooses its channel.
void revoked() {
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &revoked_comm));
  CHECK_OK(MPI_Comm_set_errhandler(revoked_comm, MPI_ERRORS_RETURN));
  MPI_Comm handled;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &handled));
  MPI_Errhandler handler;
  CHECK_OK(MPI_Comm_create_errhandler(revoke_while_receiver_waits, &handler));
  CHECK_OK(MPI_Comm_set_errhandler(handled, handler));
  std::thread receiver([] {
    while (!is_locked) std::this_thread::yield();
    receiver_id = static_cast<int>(::syscall(SYS_gettid));
    int value = -1;
    CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, 0, 1, revoked_comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    CHECK_EQ(value, -1);
  });
  CHECK_OK(MPI_Comm_call_errhandler(handled, MPI_ERR_OTHER));
  receiver.join();
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_OK(MPI_Comm_free(&handled));
  CHECK_OK(MPI_Comm_free(&revoked_comm));
}

// Two communicators are used for the first time after the other process has failed: one on a channel that is in use,
// and one on a channel of its own (HEADRACE_CHANNELS=3).
void failed() {
  std::array<MPI_Comm, 3> comms{};
  for (MPI_Comm& each : comms) {
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
    CHECK_OK(MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN));
  }
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  exchange(comms[0]);
  exchange(MPI_COMM_WORLD);
  if (rank == 1) check::cut_network();
  int value = -1;
  CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  // The channel learns of the failure while this call waits.
  CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, 1 - rank, 2, comms[0], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  for (const MPI_Comm comm : {comms[1], comms[2]}) {
    MPI_Request request;
    CHECK_CLASS(MPI_Send(&rank, 1, MPI_INT, 1 - rank, 3, comm), MPIX_ERR_PROC_FAILED);
    CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 3, comm, &request));
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CHECK_CLASS(MPI_Probe(1 - rank, 3, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  }
  CHECK_EQ(value, -1);
  while (rank == 1) ::pause();  // the end of rank 0 ends the job
  std::_Exit(3);
}

// Leaves this process one descriptor to open.
void leave_one_descriptor() {
  const int lowest = ::dup(STDERR_FILENO);
  CHECK(lowest > 0);
  ::close(lowest);
  rlimit limit{};
  CHECK_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = static_cast<rlim_t>(lowest) + 1;
  CHECK_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// Rank 0 sends on a channel that rank 1, which waits elsewhere, can accept a connection for, but cannot open.
void unopened() {
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  exchange(MPI_COMM_WORLD);
  if (rank == 1) leave_one_descriptor();
  exchange(MPI_COMM_WORLD);
  int value = -1;
  if (rank == 0) CHECK_OK(MPI_Ssend(&rank, 1, MPI_INT, 1, 2, comm));
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  rank = check::world_rank();
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  const bool known = wanted == "revoked" || wanted == "failed" || wanted == "unopened";
  CHECK(known);
  wanted == "revoked" ? revoked() : wanted == "failed" ? failed() : unopened();
  MPI_Finalize();
}

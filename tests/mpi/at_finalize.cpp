// Sends whose receivers are in MPI_Finalize, or have left it (section 11.2.2): a send that is cancelled or revoked
// ends, in whatever order the processes call MPI_Cancel and MPI_Finalize. Rank 0 sends to all others, on MPI_COMM_WORLD
// and on communicators of its own. Arguments: the case, and how many milliseconds rank 0 waits first.
#include <mpi-ext.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kLengths[] = {0, 8, 1'000'000};
constexpr int kTag = 1;

int rank = 0;
int size = 0;
std::chrono::milliseconds delay{0};

// Starts a synchronous send on each communicator, of each length, to each other rank. Every second one is persistent.
std::vector<MPI_Request> start_sends(const std::vector<MPI_Comm>& comms, std::vector<char>& data) {
  std::vector<MPI_Request> sends;
  data.assign(1'000'000, 'A');
  for (const MPI_Comm comm : comms) {
    for (const int length : kLengths) {
      for (int to = 1; to < size; ++to) {
        MPI_Request& made = sends.emplace_back(MPI_REQUEST_NULL);
        if (sends.size() % 2 == 0) {
          CHECK_OK(MPI_Issend(data.data(), length, MPI_CHAR, to, kTag, comm, &made));
        } else {
          CHECK_OK(MPI_Ssend_init(data.data(), length, MPI_CHAR, to, kTag, comm, &made));
          CHECK_OK(MPI_Start(&made));
        }
      }
    }
  }
  return sends;
}

std::vector<MPI_Comm> duplicates() {
  std::vector<MPI_Comm> made(3);
  for (MPI_Comm& each : made) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
  return made;
}

// Waits for the send or, if `tests`, tests it until it has ended. Returns the error of the call.
int end_of(MPI_Request* send, bool tests, MPI_Status* status) {
  if (!tests) return MPI_Wait(send, status);
  int done = 0, code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && done == 0) code = MPI_Test(send, &done, status);
  return code;
}

void free_persistent(std::vector<MPI_Request>& sends) {
  for (MPI_Request& each : sends) {
    if (each != MPI_REQUEST_NULL) CHECK_OK(MPI_Request_free(&each));
  }
}

// Rank 0 cancels its sends. `received`: before the others leave, they find a message on each communicator with a probe.
void cancel(bool received) {
  std::vector<MPI_Comm> comms = duplicates();
  comms.push_back(MPI_COMM_WORLD);
  std::vector<char> data;
  std::vector<MPI_Request> sends;
  if (rank == 0) sends = start_sends(comms, data);
  if (received) {
    for (const MPI_Comm comm : comms) {
      if (rank != 0) CHECK_OK(MPI_Probe(0, kTag, comm, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (rank != 0) return;
  std::this_thread::sleep_for(delay);
  for (MPI_Request& each : sends) CHECK_OK(MPI_Cancel(&each));
  for (std::size_t i = 0; i < sends.size(); ++i) {
    int cancelled = -1;
    MPI_Status status;
    CHECK_OK(end_of(&sends[i], i % 3 == 0, &status));
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
  }
  free_persistent(sends);
}

// Rank 1 revokes the communicators, and all but rank 0 leave.
void revoke() {
  std::vector<MPI_Comm> comms = duplicates();
  for (const MPI_Comm comm : comms) CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  std::vector<char> data;
  std::vector<MPI_Request> sends;
  if (rank == 0) sends = start_sends(comms, data);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1) {
    for (const MPI_Comm comm : comms) CHECK_OK(MPIX_Comm_revoke(comm));
  }
  if (rank != 0) return;
  std::this_thread::sleep_for(delay);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    MPI_Status status;
    CHECK_EQ(check::error_class(end_of(&sends[i], i % 3 == 0, &status)), MPIX_ERR_REVOKED);
  }
  free_persistent(sends);
}

// Rank 0 continues for longer than HEADRACE_NETWORK_TIMEOUT after it has cancelled its first messages: their receivers
// are in MPI_Finalize, and have not failed.
void stay() {
  const double begin = MPI_Wtime();
  cancel(false);
  while (rank == 0 && MPI_Wtime() - begin < 3) {
    int found = 0;
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    CHECK_EQ(found, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  rank = check::world_rank();
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const std::string wanted = argc > 1 ? argv[1] : "";
  delay = std::chrono::milliseconds(argc > 2 ? std::atoi(argv[2]) : 0);
  if (wanted == "cancel") {
    cancel(true);
  } else if (wanted == "revoke") {
    revoke();
  } else if (wanted == "stay") {
    stay();
  } else {
    std::fprintf(stderr, "usage: %s cancel|revoke|stay [MILLISECONDS]\n", argv[0]);
    return 1;
  }
  CHECK_OK(MPI_Finalize());
}

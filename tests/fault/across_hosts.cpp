// Ranks on different hosts that end in various ways: across_hosts <case>. Values are checked.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpi-ext.h"

namespace {

int rank = 0;
int size = 1;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "across_hosts: rank %d: %s\n", rank, what);
  std::abort();
}

int value_of(int message, int at) { return message * 1000 + at % 997; }

// Connects every rank to every other one.
void meet() {
  std::vector<int> all(static_cast<std::size_t>(size), -1);
  MPI_Alltoall(std::vector<int>(static_cast<std::size_t>(size), rank).data(), 1, MPI_INT, all.data(), 1, MPI_INT,
               MPI_COMM_WORLD);
  for (int each = 0; each < size; ++each) check(all[static_cast<std::size_t>(each)] == each, "wrong data");
}

// All ranks but rank 0 compute for longer than a silent host counts as alive: the last one before it receives the first
// messages of all others, these between the start and the end of their sends.
void answer_late() {
  const double begun = MPI_Wtime();
  const auto compute = [&] {
    constexpr double kSeconds = 1.3;  // HEADRACE_NETWORK_TIMEOUT is 0.5, and the grace period as long
    while (MPI_Wtime() - begun < kSeconds) {
    }
  };
  if (rank != size - 1) {
    const int value = value_of(rank, 5);
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Isend(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, &send);
    if (rank != 0) compute();
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    return;
  }
  compute();
  for (int each = 0; each < size - 1; ++each) {
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, each, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(value == value_of(each, 5), "wrong data");
  }
  std::printf("all have arrived\n");
}

// Keeps every rank here until all have what they need from the others: a process that ends drops its unsent data.
void meet_for_good() {
  meet();
  int nothing = 0;
  for (int each = 1; each < size; ++each) {
    if (rank == each)
      MPI_Sendrecv(&nothing, 1, MPI_INT, 0, 0, &nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Recv(&nothing, 1, MPI_INT, each, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int each = 1; rank == 0 && each < size; ++each) MPI_Send(&nothing, 1, MPI_INT, each, 0, MPI_COMM_WORLD);
}

// The last rank dies while all others wait for it.
void wait_for_a_death() {
  meet();
  if (rank == size - 1) ::raise(SIGKILL);
  int nothing = 0;
  MPI_Recv(&nothing, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// The last rank dies while rank 0 receives long data from it, and has other data queued for it.
void die_in_data() {
  constexpr int kBytes = 128 << 20;
  meet_for_good();
  std::vector<char> data(kBytes, rank == 0 ? 0 : 1);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == size - 1) {
    MPI_Request request;
    MPI_Isend(data.data(), kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    const double end = MPI_Wtime() + 0.005;
    int done = 0;
    while (MPI_Wtime() < end && done == 0) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    ::raise(SIGKILL);
  }
  if (rank != 0) std::_Exit(0);
  std::vector<char> kept(kBytes, 2);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Isend(kept.data(), kBytes, MPI_BYTE, size - 1, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(data.data(), kBytes, MPI_BYTE, size - 1, 1, MPI_COMM_WORLD, &requests[1]);
  check(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS, "no error");
  // A single call of the other rank may have moved all of its data. The message to it is never received.
  const bool arrived = statuses[1].MPI_ERROR == MPI_SUCCESS;
  check(!arrived || std::count(data.begin(), data.end(), 1) == kBytes, "the receive has succeeded without the data");
  for (int i = 0; i < (arrived ? 1 : 2); ++i) {
    int error = 0;
    MPI_Error_class(statuses[i].MPI_ERROR, &error);
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(statuses[i].MPI_ERROR, text, &length);
    check(error == MPIX_ERR_PROC_FAILED, text);
  }
  std::puts("both have ended");
  std::fflush(stdout);
  std::_Exit(0);
}

// The last rank dies, and rank 0, which expects nothing from it, sends short messages to it until that fails.
void send_to_the_dead() {
  meet_for_good();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == size - 1) ::raise(SIGKILL);
  if (rank != 0) std::_Exit(0);
  const double value = 1;
  int status = MPI_SUCCESS;
  const double end = MPI_Wtime() + 30;
  while (status == MPI_SUCCESS && MPI_Wtime() < end) {
    status = MPI_Send(&value, 1, MPI_DOUBLE, size - 1, 3, MPI_COMM_WORLD);
    // Infrequent, so that the dead rank's buffers do not fill up.
    for (const double next = MPI_Wtime() + 1e-4; MPI_Wtime() < next;) {
    }
  }
  int error = 0;
  MPI_Error_class(status, &error);
  check(error == MPIX_ERR_PROC_FAILED, "sends to a dead rank do not fail");
  std::puts("the send has failed");
  std::fflush(stdout);
  std::_Exit(0);
}

// Senders are in MPI_Finalize long before the receiver accesses their data.
void finalize_early() {
  constexpr int kMessages = 200;
  constexpr int kMost = 4000;
  std::vector<int> data(kMost);
  if (rank != 0) {
    for (int message = 0; message < kMessages; ++message) {
      const int count = message * 37 % kMost;
      for (int at = 0; at < count; ++at) data[static_cast<std::size_t>(at)] = value_of(message, at);
      MPI_Send(data.data(), count, MPI_INT, 0, rank, MPI_COMM_WORLD);
    }
    return;
  }
  ::usleep(300'000);
  for (int from = size - 1; from > 0; --from) {
    for (int message = 0; message < kMessages; ++message) {
      const int count = message * 37 % kMost;
      MPI_Recv(data.data(), kMost, MPI_INT, from, from, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int at = 0; at < count; ++at) {
        check(data[static_cast<std::size_t>(at)] == value_of(message, at), "wrong data");
      }
    }
  }
}

// No world model: the library is taken down when the process ends.
int sessions() {
  for (int round = 0; round < 2; ++round) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "across_hosts", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == size * (size - 1) / 2, "wrong sum");
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
  }
  if (rank == 0) std::puts("ok");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "meet";
  if (what == "sessions") return sessions();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (what == "late") {
    answer_late();
  } else if (what == "death") {
    wait_for_a_death();
  } else if (what == "data") {
    die_in_data();
  } else if (what == "send") {
    send_to_the_dead();
  } else if (what == "early") {
    finalize_early();
  } else if (what == "exit") {
    meet();
    return 0;  // without MPI_Finalize
  } else if (what == "shared") {
    MPI_Comm here;
    int members = 0;
    int global = 0;
    int* is_global = &global;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &members);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &is_global, &global);
    std::printf("rank %d shares with %d place %s of %s\n", rank, members, std::getenv("MPI_LOCALRANKID"),
                std::getenv("MPI_LOCALNRANKS"));
    MPI_Comm_free(&here);
  } else {
    meet();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::puts("ok");
  }
  MPI_Finalize();
  return 0;
}

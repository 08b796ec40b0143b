// A long send on one channel, while its thread waits on another one: two ranks.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "common/check.hpp"

namespace {

int rank = 0;

// Waits for a message with tag 1 on another channel than that of a send in progress.
using Wait = std::function<void(MPI_Comm)>;

// Returns the least time of several runs, in seconds, in which rank 0 sends much data on comms[0], and waits for an
// answer on comms[1]: after the send if `send_first`, else meanwhile.
double send_time(const MPI_Comm* comms, std::vector<char>& data, const Wait& wait, bool send_first) {
  constexpr int kRuns = 5;
  double least = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    std::fill(data.begin(), data.end(), static_cast<char>(rank == 0 ? i + 1 : 0));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const double begun = MPI_Wtime();
    const int count = static_cast<int>(data.size());
    if (rank == 0) {
      MPI_Request send;
      CHECK_OK(MPI_Isend(data.data(), count, MPI_CHAR, 1, 0, comms[0], &send));
      if (send_first) CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
      wait(comms[1]);
      CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
      CHECK_OK(MPI_Recv(data.data(), count, MPI_CHAR, 0, 0, comms[0], MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Send(nullptr, 0, MPI_CHAR, 0, 1, comms[1]));
      for (const char each : data) CHECK_EQ(each, static_cast<char>(i + 1));
    }
    least = std::min(least, MPI_Wtime() - begun);
  }
  return least;
}

// A send in many pieces continues while its thread waits on another channel, as fast as if the thread waited for it.
void send_continues() {
  constexpr int kBytes = 8 << 20;
  constexpr double kSlower = 50;
  const auto receive = [](MPI_Comm comm) { CHECK_OK(MPI_Recv(nullptr, 0, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE)); };
  const struct {
    const char* name;
    Wait wait;
  } waits[] = {{"MPI_Recv", receive},
               {"MPI_Probe",
                [&](MPI_Comm comm) {
                  CHECK_OK(MPI_Probe(1, 1, comm, MPI_STATUS_IGNORE));
                  receive(comm);
                }},
               {"MPI_Waitany",
                [](MPI_Comm comm) {
                  MPI_Request request;
                  CHECK_OK(MPI_Irecv(nullptr, 0, MPI_CHAR, 1, 1, comm, &request));
                  int index = -1;
                  CHECK_OK(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
                  CHECK_EQ(index, 0);
                }},
               {"MPI_Test", [](MPI_Comm comm) {
                  MPI_Request request;
                  CHECK_OK(MPI_Irecv(nullptr, 0, MPI_CHAR, 1, 1, comm, &request));
                  for (int done = 0; done == 0;) CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
                }}};
  MPI_Comm comms[2];
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
  std::vector<char> data(kBytes);
  const double alone = send_time(comms, data, receive, true);
  for (const auto& each : waits) {
    const double beside = send_time(comms, data, each.wait, false);
    if (rank != 0) continue;
    std::printf("%s: %.1f ms, %.1f ms if the send is awaited\n", each.name, beside * 1e3, alone * 1e3);
    CHECK(beside < kSlower * alone);
  }
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_free(&each));
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  rank = check::world_rank();
  send_continues();
  MPI_Finalize();
}

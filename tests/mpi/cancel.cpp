// MPI_Cancel (section 3.8.4): an operation is either cancelled, according to its status and without any effect, or
// complete.
#include <algorithm>
#include <numeric>
#include <vector>

#include "common/check.hpp"

namespace {

int left, right;

bool was_cancelled(const MPI_Status& status) {
  int cancelled = -1;
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  return cancelled != 0;
}

bool wait_was_cancelled(MPI_Request* request) {
  MPI_Status status;
  CHECK_OK(MPI_Wait(request, &status));
  return was_cancelled(status);
}

bool something_comes() {
  int found = 0;
  CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
  return found != 0;
}

int isend(int form, const std::vector<int>& data, MPI_Request* request) {
  const int count = static_cast<int>(data.size());
  return form == 0 ? MPI_Isend(data.data(), count, MPI_INT, right, 7, MPI_COMM_WORLD, request)
                   : MPI_Issend(data.data(), count, MPI_INT, right, 7, MPI_COMM_WORLD, request);
}

// A cancelled send without a receive no longer exists on either side, and the next message is received instead.
void unmatched_sends() {
  for (const auto& [form, ints] : {std::pair{0, 300'000}, {1, 300'000}, {1, 2}, {1, 0}}) {
    std::vector<int> first(static_cast<std::size_t>(ints), 1);
    std::vector<int> second(static_cast<std::size_t>(ints), 2);
    std::vector<int> received(static_cast<std::size_t>(ints), -1);
    MPI_Request request, receive;
    CHECK_OK(isend(form, first, &request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL);
    CHECK(wait_was_cancelled(&request));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(!something_comes());
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Irecv(received.data(), ints, MPI_INT, left, 7, MPI_COMM_WORLD, &receive));
    CHECK_OK(isend(form, second, &request));
    CHECK(!wait_was_cancelled(&receive));
    CHECK(!wait_was_cancelled(&request));
    CHECK(received == second);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

// Cancels more messages than can be in flight.
void many_sends() {
  std::vector<int> data(10, 3);
  std::vector<MPI_Request> requests(3000);
  std::vector<MPI_Status> statuses(requests.size());
  for (MPI_Request& request : requests) CHECK_OK(isend(1, data, &request));
  for (MPI_Request& request : requests) CHECK_OK(MPI_Cancel(&request));
  for (MPI_Request& request : requests) CHECK_OK(MPI_Cancel(&request));  // a second call has no effect
  CHECK_OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()));
  CHECK(std::all_of(statuses.begin(), statuses.end(), was_cancelled));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(!something_comes());
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// The receive is posted before, during or after the cancellation: both sides have the same result, and the data is
// complete or unchanged.
void sends_that_meet_receives() {
  int cancelled_ones = 0;
  for (int round = 0; round < 400; ++round) {
    const int ints = round % 4 < 2 ? 1 : 50'000;
    std::vector<int> data(static_cast<std::size_t>(ints));
    std::vector<int> received(data.size(), -1);
    std::iota(data.begin(), data.end(), round);
    MPI_Request send, receive;
    const bool early = round % 3 == 0;
    if (early) CHECK_OK(MPI_Irecv(received.data(), ints, MPI_INT, left, 7, MPI_COMM_WORLD, &receive));
    CHECK_OK(isend(round % 2, data, &send));
    CHECK_OK(MPI_Cancel(&send));
    if (!early) CHECK_OK(MPI_Irecv(received.data(), ints, MPI_INT, left, 7, MPI_COMM_WORLD, &receive));
    const int mine = wait_was_cancelled(&send) ? 1 : 0;
    cancelled_ones += mine;
    int theirs = -1;
    CHECK_OK(
        MPI_Sendrecv(&mine, 1, MPI_INT, right, 8, &theirs, 1, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (theirs == 1) CHECK_OK(MPI_Cancel(&receive));
    CHECK_EQ(wait_was_cancelled(&receive), theirs == 1);
    if (theirs == 1) {
      CHECK(std::all_of(received.begin(), received.end(), [](int value) { return value == -1; }));
    } else {
      for (std::size_t i = 0; i < received.size(); ++i) CHECK_EQ(received[i], round + static_cast<int>(i));
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));  // so that the next message matches the next receive
  }
  CHECK(cancelled_ones < 400);  // sends whose receive was posted are not cancelled
}

// A message that a matched probe has taken out of the queue counts as matched.
void probed_send() {
  std::vector<int> data(50'000, 9), received(data.size(), -1);
  MPI_Request request;
  MPI_Message message;
  CHECK_OK(isend(0, data, &request));
  CHECK_OK(MPI_Mprobe(left, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Mrecv(received.data(), static_cast<int>(received.size()), MPI_INT, &message, MPI_STATUS_IGNORE));
  CHECK(!wait_was_cancelled(&request));
  CHECK(received == data);
}

void persistent_send() {
  int value = 21, received = -1;
  MPI_Request request;
  CHECK_OK(MPI_Ssend_init(&value, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &request));
  for (int round = 0; round < 100; ++round) {
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK(wait_was_cancelled(&request));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));  // no receive is posted for the cancelled message
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Recv(&received, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(!wait_was_cancelled(&request));
    CHECK_EQ(received, value);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK_OK(MPI_Request_free(&request));
}

// Programs test right after MPI_Cancel whether a send to themselves was cancelled, and receive it if not (as mpi4py's
// tests do).
void send_to_oneself() {
  int rank = -1;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  for (int round = 0; round < 20; ++round) {
    int value = round, received = -1, done = 0, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    CHECK_OK(MPI_Issend(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request));
    if (round % 2 == 0) CHECK_OK(MPI_Probe(rank, 5, MPI_COMM_WORLD, &status));
    CHECK_OK(MPI_Cancel(&request));
    CHECK_OK(MPI_Request_get_status(request, &done, &status));
    CHECK(done != 0);
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Sendrecv(&value, 1, MPI_INT, rank, 5, &received, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &status));
    CHECK_EQ(received, round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  left = (mpi.rank + mpi.size - 1) % mpi.size;
  right = (mpi.rank + 1) % mpi.size;
  unmatched_sends();
  many_sends();
  sends_that_meet_receives();
  probed_send();
  persistent_send();
  send_to_oneself();
  for (int round = 0; round < 200; ++round) {
    int cancelled_value = -1, value = -1;
    MPI_Request request;
    MPI_Status status;
    CHECK_OK(MPI_Irecv(&cancelled_value, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL);
    CHECK_OK(MPI_Wait(&request, &status));
    int cancelled = 0;
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);  // no rank has sent since the last barrier
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Sendrecv(&round, 1, MPI_INT, right, 3, &value, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &status));
    CHECK_EQ(value, round);  // the later receive took the message
    CHECK_EQ(cancelled_value, -1);
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  // A receive that is cancelled while its message arrives is either cancelled or complete, and the message is not lost.
  int value = -1;
  MPI_Request request;
  MPI_Status status;
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, mpi.rank, 4, MPI_COMM_WORLD, &request));
  const int sent = 17;
  CHECK_OK(MPI_Send(&sent, 1, MPI_INT, mpi.rank, 4, MPI_COMM_WORLD));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  int cancelled = 1;
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  if (cancelled != 0) {
    CHECK_EQ(value, -1);
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, mpi.rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  CHECK_EQ(value, 17);

  // A persistent receive may be cancelled and started again.
  CHECK_OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request));
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
  }
  CHECK_OK(MPI_Start(&request));
  CHECK_OK(MPI_Send(&sent, 1, MPI_INT, mpi.rank, 5, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Request_free(&request));
}

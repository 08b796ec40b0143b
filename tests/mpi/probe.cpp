// Probes and matched probes (section 3.8): they report the next message, its source, tag and length, without receiving
// it; a matched message is removed from matching, and can be received only through its handle.
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kSizes[] = {0, 1, 100, 5000, 200000};

void check_status(const MPI_Status& status, int source, int tag, int count) {
  CHECK_EQ(status.MPI_SOURCE, source);
  CHECK_EQ(status.MPI_TAG, tag);
  int found = -1;
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &found));
  CHECK_EQ(found, count);
}

void send_all(int repeat) {
  for (int r = 0; r < repeat; ++r) {
    for (const int size : kSizes) {
      const std::vector<int> data(static_cast<std::size_t>(size), size + r);
      CHECK_OK(MPI_Send(data.data(), size, MPI_INT, 1, 10 + r, MPI_COMM_WORLD));
    }
  }
}

void check_data(const std::vector<int>& data, int value) {
  for (const int element : data) CHECK_EQ(element, value);
}

void blocking_and_not(const check::Environment& mpi) {
  if (mpi.rank == 0) send_all(2);
  if (mpi.rank != 1) return;
  for (int r = 0; r < 2; ++r) {
    for (const int size : kSizes) {
      MPI_Status status;
      const int source = r == 0 ? 0 : MPI_ANY_SOURCE, tag = r == 0 ? 10 : MPI_ANY_TAG;
      if (size % 2 == 0) {
        CHECK_OK(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));
      } else {
        int flag = 0;
        while (flag == 0) CHECK_OK(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
      }
      check_status(status, 0, 10 + r, size);
      // A second probe finds the message again.
      CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      check_status(status, 0, 10 + r, size);
      std::vector<int> data(static_cast<std::size_t>(size), -1);
      CHECK_OK(MPI_Recv(data.data(), size, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
      check_status(status, 0, 10 + r, size);
      check_data(data, size + r);
    }
  }
  int flag = 1;
  CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
}

void matched(const check::Environment& mpi) {
  if (mpi.rank == 0) send_all(2);
  if (mpi.rank != 1) return;
  for (int r = 0; r < 2; ++r) {
    for (const int size : kSizes) {
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      if (size % 2 == 0) {
        CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, r == 0 ? MPI_ANY_TAG : 11, MPI_COMM_WORLD, &message, &status));
      } else {
        int flag = 0;
        while (flag == 0) CHECK_OK(MPI_Improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
      }
      check_status(status, 0, 10 + r, size);
      CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
      std::vector<int> data(static_cast<std::size_t>(size), -1);
      if (r == 0) {
        CHECK_OK(MPI_Mrecv(data.data(), size, MPI_INT, &message, &status));
      } else {
        MPI_Request request;
        CHECK_OK(MPI_Imrecv(data.data(), size, MPI_INT, &message, &request));
        CHECK(message == MPI_MESSAGE_NULL);
        CHECK_OK(MPI_Wait(&request, &status));
      }
      CHECK(message == MPI_MESSAGE_NULL);
      check_status(status, 0, 10 + r, size);
      check_data(data, size + r);
    }
  }
}

// A matched message is no longer in the queue: the following receive gets the next one. Checks both orders of
// reception.
void matched_is_taken(const check::Environment& mpi) {
  constexpr int kLength = 30000;  // ints; longer than any eager message
  for (const int length : {1, kLength}) {
    std::vector<int> data(static_cast<std::size_t>(length));
    if (mpi.rank == 0) {
      MPI_Request requests[2];
      std::vector<int> second(static_cast<std::size_t>(length), 2);
      data.assign(data.size(), 1);
      CHECK_OK(MPI_Isend(data.data(), length, MPI_INT, 1, 7, MPI_COMM_WORLD, &requests[0]));
      CHECK_OK(MPI_Isend(second.data(), length, MPI_INT, 1, 7, MPI_COMM_WORLD, &requests[1]));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else if (mpi.rank == 1) {
      MPI_Message message;
      CHECK_OK(MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Recv(data.data(), length, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      check_data(data, 2);
      CHECK_OK(MPI_Mrecv(data.data(), length, MPI_INT, &message, MPI_STATUS_IGNORE));
      check_data(data, 1);
    }
  }
}

void nobody() {
  MPI_Status status;
  MPI_Message message;
  int flag = 0;
  CHECK_OK(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  CHECK_OK(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status));
  CHECK_EQ(flag, 1);
  CHECK_OK(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_OK(MPI_Mrecv(nullptr, 0, MPI_INT, &message, &status));
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  CHECK(message == MPI_MESSAGE_NULL);
}

// Messages of unknown length from all ranks, the usual purpose of probes.
void unknown_lengths(const check::Environment& mpi) {
  if (mpi.rank != 0) {
    for (int i = 0; i < 50; ++i) {
      const int length = (mpi.rank * 37 + i * 101) % 3000;
      const std::vector<int> data(static_cast<std::size_t>(length), mpi.rank);
      CHECK_OK(MPI_Send(data.data(), length, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
    return;
  }
  std::vector<int> next(static_cast<std::size_t>(mpi.size), 0);
  for (int n = 0; n < 50 * (mpi.size - 1); ++n) {
    MPI_Status status;
    CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    int length = -1;
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &length));
    int& i = next[static_cast<std::size_t>(status.MPI_SOURCE)];
    CHECK_EQ(status.MPI_TAG, i);
    CHECK_EQ(length, (status.MPI_SOURCE * 37 + i * 101) % 3000);
    ++i;
    std::vector<int> data(static_cast<std::size_t>(length));
    CHECK_OK(MPI_Recv(data.data(), length, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
    check_data(data, status.MPI_SOURCE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  blocking_and_not(mpi);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  matched(mpi);
  matched_is_taken(mpi);
  nobody();
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  unknown_lengths(mpi);
}

// Every function that completes requests (section 3.7.5), with null and inactive requests among them, and the requests'
// state afterwards.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kRequests = 12;

struct Batch {
  std::array<MPI_Request, kRequests> requests;
  std::array<int, kRequests> values;
};

// Rank 1 receives; every third request is null, and the last one is inactive and persistent.
void start(const check::Environment& mpi, bool from_any, Batch& batch) {
  batch.requests.fill(MPI_REQUEST_NULL);
  batch.values.fill(-1);
  for (int i = 0; i < kRequests - 1; ++i) {
    if (i % 3 == 2) continue;
    auto& request = batch.requests[static_cast<std::size_t>(i)];
    auto& value = batch.values[static_cast<std::size_t>(i)];
    if (mpi.rank == 1) {
      CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, from_any ? MPI_ANY_SOURCE : 0, i, MPI_COMM_WORLD, &request));
    } else {
      value = 1000 + i;
      CHECK_OK(MPI_Isend(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD, &request));
    }
  }
  CHECK_OK(MPI_Recv_init(&batch.values[kRequests - 1], 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD,
                         &batch.requests[kRequests - 1]));
}

void finish(const check::Environment& mpi, Batch& batch) {
  for (int i = 0; i < kRequests - 1; ++i) {
    const auto at = static_cast<std::size_t>(i);
    CHECK(batch.requests[at] == MPI_REQUEST_NULL);
    if (mpi.rank == 1) CHECK_EQ(batch.values[at], i % 3 == 2 ? -1 : 1000 + i);
  }
  CHECK(batch.requests[kRequests - 1] != MPI_REQUEST_NULL);  // inactive requests stay
  CHECK_OK(MPI_Request_free(&batch.requests[kRequests - 1]));
}

void check_empty(const MPI_Status& status) {
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  int count = -1, cancelled = 1;
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 0);
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 0);
}

void all(const check::Environment& mpi) {
  Batch batch;
  start(mpi, false, batch);
  std::array<MPI_Status, kRequests> statuses;
  CHECK_OK(MPI_Waitall(kRequests, batch.requests.data(), statuses.data()));
  for (int i = 0; i < kRequests; ++i) {
    const auto& status = statuses[static_cast<std::size_t>(i)];
    if (i % 3 == 2 || i == kRequests - 1) {
      check_empty(status);
    } else if (mpi.rank == 1) {
      CHECK_EQ(status.MPI_SOURCE, 0);
      CHECK_EQ(status.MPI_TAG, i);
    }
  }
  finish(mpi, batch);

  start(mpi, true, batch);
  int flag = 0;
  while (flag == 0) CHECK_OK(MPI_Testall(kRequests, batch.requests.data(), &flag, statuses.data()));
  finish(mpi, batch);
}

void any(const check::Environment& mpi) {
  for (const bool wait : {true, false}) {
    Batch batch;
    start(mpi, false, batch);
    std::array<int, kRequests> seen{};
    for (int n = 0; n < 8; ++n) {
      int index = -1, flag = wait ? 1 : 0;
      MPI_Status status;
      if (wait) {
        CHECK_OK(MPI_Waitany(kRequests, batch.requests.data(), &index, &status));
      } else {
        while (flag == 0) CHECK_OK(MPI_Testany(kRequests, batch.requests.data(), &index, &flag, &status));
      }
      CHECK(index >= 0 && index < kRequests - 1 && index % 3 != 2);
      CHECK_EQ(seen[static_cast<std::size_t>(index)]++, 0);
      if (mpi.rank == 1) CHECK_EQ(status.MPI_TAG, index);
    }
    int index = 0, flag = 0;
    MPI_Status status;
    CHECK_OK(MPI_Waitany(kRequests, batch.requests.data(), &index, &status));  // none is active
    CHECK_EQ(index, MPI_UNDEFINED);
    check_empty(status);
    CHECK_OK(MPI_Testany(kRequests, batch.requests.data(), &index, &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_EQ(index, MPI_UNDEFINED);
    check_empty(status);
    finish(mpi, batch);
  }
}

void some(const check::Environment& mpi) {
  for (const bool wait : {true, false}) {
    Batch batch;
    start(mpi, true, batch);
    int completed = 0;
    while (completed < 8) {
      int count = 0;
      std::array<int, kRequests> indices;
      std::array<MPI_Status, kRequests> statuses;
      if (wait) {
        CHECK_OK(MPI_Waitsome(kRequests, batch.requests.data(), &count, indices.data(), statuses.data()));
        CHECK(count > 0);
      } else {
        CHECK_OK(MPI_Testsome(kRequests, batch.requests.data(), &count, indices.data(), statuses.data()));
      }
      CHECK(count >= 0 && count <= 8 - completed);
      for (int c = 0; c < count; ++c) {
        const int index = indices[static_cast<std::size_t>(c)];
        CHECK(batch.requests[static_cast<std::size_t>(index)] == MPI_REQUEST_NULL);
        if (mpi.rank == 1) CHECK_EQ(statuses[static_cast<std::size_t>(c)].MPI_TAG, index);
      }
      completed += count;
    }
    int count = 0;
    std::array<int, kRequests> indices;
    CHECK_OK(MPI_Waitsome(kRequests, batch.requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE));
    CHECK_EQ(count, MPI_UNDEFINED);
    CHECK_OK(MPI_Testsome(kRequests, batch.requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE));
    CHECK_EQ(count, MPI_UNDEFINED);
    finish(mpi, batch);
  }
}

void null_ones() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = 0, index = 0;
  CHECK_OK(MPI_Wait(&request, &status));
  check_empty(status);
  CHECK_OK(MPI_Test(&request, &flag, &status));
  CHECK_EQ(flag, 1);
  check_empty(status);
  CHECK_OK(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE));
  CHECK_OK(MPI_Waitany(0, nullptr, &index, MPI_STATUS_IGNORE));
  CHECK_EQ(index, MPI_UNDEFINED);
  CHECK_OK(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
  CHECK_EQ(flag, 1);
}

// MPI_Request_get_status queries a request without freeing it; MPI_Request_free lets a started send complete without a
// wait.
void status_and_free(const check::Environment& mpi) {
  constexpr int kLength = 100000;
  std::vector<int> data(kLength, 5);
  MPI_Request request;
  if (mpi.rank == 0) {
    CHECK_OK(MPI_Isend(data.data(), kLength, MPI_INT, 1, 1, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));  // the message has arrived
  } else if (mpi.rank == 1) {
    data.assign(kLength, 0);
    CHECK_OK(MPI_Irecv(data.data(), kLength, MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
    int flag = 0;
    MPI_Status status;
    while (flag == 0) CHECK_OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(request != MPI_REQUEST_NULL);
    int count = 0;
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, kLength);
    CHECK_EQ(std::count(data.begin(), data.end(), 5), kLength);
    CHECK_OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 1);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Send(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD));
  }
}

// Makes so many receives, with every outcome, that request objects are reused. Each request must show its own state.
void used_again(const check::Environment& mpi) {
  enum Way { kPlain, kLong, kTruncated, kCancelled, kFreed, kWays };
  constexpr int kFew = 4, kMany = 20000, kMost = 8;
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  std::mt19937 random(20261122);  // the same seed in both processes
  const std::vector<int> sent(kMany, 5);
  for (int round = 0; round < 300; ++round) {
    const int count = 1 + static_cast<int>(random() % kMost);
    const unsigned wait = random() % 3;
    std::array<int, kMost> ways;
    for (int& way : ways) way = static_cast<int>(random() % kWays);
    if (mpi.rank == 0) {
      for (int i = 0; i < count; ++i) {
        const int way = ways[static_cast<std::size_t>(i)];
        if (way == kCancelled) continue;
        CHECK_OK(MPI_Send(sent.data(), way == kLong ? kMany : kFew, MPI_INT, 1, i, MPI_COMM_WORLD));
      }
      CHECK_OK(MPI_Sendrecv(nullptr, 0, MPI_INT, 1, 99, nullptr, 0, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      continue;
    }
    std::array<std::vector<int>, kMost> data;
    std::array<MPI_Request, kMost> requests, before;
    std::array<MPI_Status, kMost> statuses;
    requests.fill(MPI_REQUEST_NULL);
    bool truncated = false;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const int way = ways[at], room = way == kLong ? kMany : way == kTruncated ? kFew / 2 : kFew;
      truncated |= way == kTruncated;
      data[at].assign(kMany, -1);
      CHECK_OK(
          MPI_Irecv(data[at].data(), room, MPI_INT, 0, way == kCancelled ? 50 + i : i, MPI_COMM_WORLD, &requests[at]));
      before[at] = requests[at];
      if (way == kCancelled) CHECK_OK(MPI_Cancel(&requests[at]));
      if (way == kFreed) CHECK_OK(MPI_Request_free(&requests[at]));
    }
    if (wait == 0) {
      const int code = MPI_Waitall(count, requests.data(), statuses.data());
      if (truncated) CHECK_CLASS(code, MPI_ERR_IN_STATUS);
      if (!truncated) CHECK_OK(code);
    } else if (wait == 1) {
      const int code = MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
      if (truncated) CHECK_CLASS(code, MPI_ERR_TRUNCATE);
      if (!truncated) CHECK_OK(code);
    } else {
      for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        statuses[at].MPI_ERROR = MPI_SUCCESS;
        const int code = MPI_Wait(&requests[at], &statuses[at]);
        if (ways[at] == kTruncated) CHECK_CLASS(code, MPI_ERR_TRUNCATE);
        if (ways[at] != kTruncated) CHECK_OK(code);
      }
    }
    // When this message has arrived, so have all earlier eager ones, including those of the freed requests.
    CHECK_OK(MPI_Sendrecv(nullptr, 0, MPI_INT, 0, 99, nullptr, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const int way = ways[at];
      const int wanted = way == kCancelled ? 0 : way == kLong ? kMany : way == kTruncated ? kFew / 2 : kFew;
      CHECK(requests[at] == MPI_REQUEST_NULL);
      for (int k = 0; k < kMany; ++k) CHECK_EQ(data[at][static_cast<std::size_t>(k)], k < wanted ? 5 : -1);
      if (check::headrace()) CHECK_CLASS(MPI_Wait(&before[at], MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
      if (wait == 1 || way == kFreed) continue;
      int elements = -1, cancelled = -1;
      CHECK_OK(MPI_Test_cancelled(&statuses[at], &cancelled));
      CHECK_EQ(cancelled, way == kCancelled ? 1 : 0);
      if (wait == 0)
        CHECK_EQ(check::error_class(statuses[at].MPI_ERROR), way == kTruncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      if (way == kCancelled) continue;
      CHECK_EQ(statuses[at].MPI_SOURCE, 0);
      CHECK_EQ(statuses[at].MPI_TAG, i);
      CHECK_OK(MPI_Get_count(&statuses[at], MPI_INT, &elements));
      if (way != kTruncated) CHECK_EQ(elements, wanted);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  null_ones();
  if (mpi.rank > 1) return 0;
  all(mpi);
  any(mpi);
  some(mpi);
  status_and_free(mpi);
  used_again(mpi);
}

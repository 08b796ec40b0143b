// Many messages to oneself, completed with every test and wait function: each call finds all messages that have
// arrived, so few calls are needed, and the data is correct (sections 3.5 and 3.7.5).
#include <functional>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kMessages = 4000;

struct Batch {
  std::vector<MPI_Request> requests = std::vector<MPI_Request>(2 * kMessages, MPI_REQUEST_NULL);
  std::vector<int> out = std::vector<int>(kMessages);
  std::vector<int> in = std::vector<int>(kMessages, -1);
  std::vector<MPI_Status> statuses = std::vector<MPI_Status>(2 * kMessages);
  std::vector<int> indices = std::vector<int>(2 * kMessages);

  Batch() {
    for (int i = 0; i < kMessages; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out[at] = 7 * i;
      CHECK_OK(MPI_Isend(&out[at], 1, MPI_INT, 0, 99, MPI_COMM_SELF, &requests[2 * at]));
      CHECK_OK(MPI_Irecv(&in[at], 1, MPI_INT, 0, 99, MPI_COMM_SELF, &requests[2 * at + 1]));
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(requests.size()); }
};

// complete(batch) returns the number of requests that it completed, and stores their statuses.
void play(int most_calls, const std::function<int(Batch&)>& complete) {
  Batch batch;
  int calls = 0;
  for (int done = 0; done < batch.count(); ++calls) done += complete(batch);
  CHECK(batch.in == batch.out);
  for (const MPI_Request request : batch.requests) CHECK(request == MPI_REQUEST_NULL);
  if (check::headrace()) CHECK(calls <= most_calls);
}

int some(Batch& batch, bool waits) {
  int count = 0;
  CHECK_OK((waits ? MPI_Waitsome : MPI_Testsome)(batch.count(), batch.requests.data(), &count, batch.indices.data(),
                                                 batch.statuses.data()));
  CHECK(count >= 0);
  for (int i = 0; i < count; ++i)
    CHECK(batch.indices[static_cast<std::size_t>(i)] % 2 == 0 ||
          batch.statuses[static_cast<std::size_t>(i)].MPI_TAG == 99);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  play(1, [](Batch& batch) {
    CHECK_OK(MPI_Waitall(batch.count(), batch.requests.data(), batch.statuses.data()));
    return batch.count();
  });
  play(kMessages / 50, [](Batch& batch) {
    int flag = 0;
    CHECK_OK(MPI_Testall(batch.count(), batch.requests.data(), &flag, batch.statuses.data()));
    return flag != 0 ? batch.count() : 0;
  });
  play(kMessages / 50, [](Batch& batch) {
    int flag = 0;
    CHECK_OK(MPI_Request_get_status_all(batch.count(), batch.requests.data(), &flag, batch.statuses.data()));
    if (flag == 0) return 0;
    CHECK_OK(MPI_Waitall(batch.count(), batch.requests.data(), batch.statuses.data()));
    return batch.count();
  });
  play(kMessages / 50, [](Batch& batch) { return some(batch, true); });
  play(kMessages / 50, [](Batch& batch) { return some(batch, false); });
  // Each call completes one request, and few calls complete none.
  play(2 * kMessages, [](Batch& batch) {
    int index = -1;
    CHECK_OK(MPI_Waitany(batch.count(), batch.requests.data(), &index, &batch.statuses[0]));
    CHECK(index >= 0);
    return 1;
  });
  play(2 * kMessages + kMessages / 50, [](Batch& batch) {
    int index = -1, flag = 0;
    CHECK_OK(MPI_Testany(batch.count(), batch.requests.data(), &index, &flag, &batch.statuses[0]));
    CHECK(flag == 0 || index >= 0);
    return flag;
  });
  return 0;
}

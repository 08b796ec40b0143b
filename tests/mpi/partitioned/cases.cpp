// Partitioned communication: matching in the order of init calls, arrival of single partitions, threads that mark
// partitions, MPI_PROC_NULL, and incorrect use.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "../common/check.hpp"

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

void expect(int line, const char* call, int code, int wanted, const std::string& word) {
  check::raises(__FILE__, line, call, code, wanted);
  if (!check::headrace()) return;
  const std::string sentence = check::error_text(code);
  if (sentence.find(word) == std::string::npos)
    check::fail(__FILE__, line, std::string(call) + ": '" + sentence + "' does not name '" + word + "'");
}
#define EXPECT(call, error_class, word) expect(__LINE__, #call, (call), error_class, word)

// Several sends and receives with the same envelope match in the order of the init calls, even if the receives come
// first or late, or the starts are in another order.
void order(const check::Environment& mpi) {
  constexpr int kMessages = 12;
  const int peer = mpi.rank ^ 1;
  if (peer >= mpi.size) return;
  for (int first = 0; first < 2; ++first) {
    int out[kMessages], in[kMessages];
    MPI_Request sends[kMessages], receives[kMessages];
    for (int side = 0; side < 2; ++side) {
      for (int m = 0; m < kMessages; ++m) {
        if ((side ^ first) == 0) {
          CHECK_OK(MPI_Psend_init(&out[m], 1, 1, MPI_INT, peer, 5, world, MPI_INFO_NULL, &sends[m]));
        } else {
          CHECK_OK(MPI_Precv_init(&in[m], 1, 1, MPI_INT, peer, 5, world, MPI_INFO_NULL, &receives[m]));
        }
      }
    }
    for (int round = 0; round < 20; ++round) {
      for (int m = 0; m < kMessages; ++m) {
        out[m] = mpi.rank * 10000 + round * 100 + m;
        in[m] = -1;
      }
      std::vector<MPI_Request> backwards(sends, sends + kMessages);
      std::reverse(backwards.begin(), backwards.end());
      CHECK_OK(MPI_Startall(kMessages, backwards.data()));
      CHECK_OK(MPI_Startall(kMessages, receives));
      for (int m = kMessages; m-- > 0;) CHECK_OK(MPI_Pready(0, sends[(m * 5 + round) % kMessages]));
      CHECK_OK(MPI_Waitall(kMessages, receives, MPI_STATUSES_IGNORE));
      CHECK_OK(MPI_Waitall(kMessages, sends, MPI_STATUSES_IGNORE));
      for (int m = 0; m < kMessages; ++m) CHECK_EQ(in[m], peer * 10000 + round * 100 + m);
    }
    for (int m = 0; m < kMessages; ++m) {
      CHECK_OK(MPI_Request_free(&sends[m]));
      CHECK_OK(MPI_Request_free(&receives[m]));
    }
  }
}

// A partition arrives while others are not ready; the others do not arrive.
void piecewise(const check::Environment& mpi) {
  if (mpi.rank > 1) return;
  constexpr int kSend = 6, kReceive = 3, kElements = 2000;
  std::vector<double> data(static_cast<std::size_t>(kSend) * kElements);
  MPI_Request request;
  if (mpi.rank == 0) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
    CHECK_OK(MPI_Psend_init(data.data(), kSend, kElements, MPI_DOUBLE, 1, 2, world, MPI_INFO_NULL, &request));
  } else {
    CHECK_OK(MPI_Precv_init(data.data(), kReceive, 2 * kElements, MPI_DOUBLE, 0, 2, world, MPI_INFO_NULL, &request));
  }
  for (int round = 0; round < 5; ++round) {
    if (mpi.rank == 1) std::fill(data.begin(), data.end(), -1.0);
    CHECK_OK(MPI_Start(&request));
    for (int which = kReceive; which-- > 0;) {
      int flag = 0;
      if (mpi.rank == 0) {
        CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, 3, world, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Pready(2 * which, request));
        CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 1, 3, world));
        CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, 3, world, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Pready_range(2 * which + 1, 2 * which + 1, request));
        // Progresses until the other side has seen the partition.
        CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, 4, world, MPI_STATUS_IGNORE));
      } else {
        CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 3, world));
        CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 0, 3, world, MPI_STATUS_IGNORE));
        for (int i = 0; i < 100; ++i) {
          CHECK_OK(MPI_Parrived(request, which, &flag));
          CHECK_EQ(flag, 0);  // only half of it has arrived
        }
        CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 3, world));
        while (flag == 0) CHECK_OK(MPI_Parrived(request, which, &flag));
        const auto from = static_cast<std::size_t>(which) * 2 * kElements;
        for (std::size_t i = from; i < from + 2 * kElements; ++i) CHECK_EQ(data[i], static_cast<double>(i));
        for (int other = 0; other < kReceive; ++other) {
          CHECK_OK(MPI_Parrived(request, other, &flag));
          CHECK_EQ(flag, other >= which ? 1 : 0);
        }
        CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 4, world));
      }
    }
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Request_free(&request));
}

// Some partitions, or all, are ready before a matching receive exists.
void ready_before_its_receive(const check::Environment& mpi) {
  if (mpi.rank > 1) return;
  constexpr int kPartitions = 5;
  for (const int ready : {1, kPartitions}) {
    int data[kPartitions] = {1, 2, 3, 4, 5};
    MPI_Request request;
    if (mpi.rank == 0) {
      CHECK_OK(MPI_Psend_init(data, kPartitions, 1, MPI_INT, 1, 6, world, MPI_INFO_NULL, &request));
      CHECK_OK(MPI_Start(&request));
      CHECK_OK(MPI_Pready_range(0, ready - 1, request));
      CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 1, 7, world));
      CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, 8, world, MPI_STATUS_IGNORE));
      if (ready < kPartitions) CHECK_OK(MPI_Pready_range(ready, kPartitions - 1, request));
    } else {
      std::fill(data, data + kPartitions, -1);
      CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 0, 7, world, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Precv_init(data, kPartitions, 1, MPI_INT, 0, 6, world, MPI_INFO_NULL, &request));
      CHECK_OK(MPI_Start(&request));
      for (int p = 0; p < ready; ++p) {
        for (int flag = 0; flag == 0;) CHECK_OK(MPI_Parrived(request, p, &flag));
        CHECK_EQ(data[p], p + 1);
      }
      CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 8, world));
    }
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int p = 0; p < kPartitions; ++p) CHECK_EQ(data[p], p + 1);
    CHECK_OK(MPI_Request_free(&request));
  }
}

// Some threads mark the send's partitions as ready, others test the receive's, and the main thread waits.
void threads(const check::Environment& mpi) {
  constexpr int kThreads = 4, kEach = 16, kElements = 300;
  constexpr int kPartitions = kThreads * kEach;
  const int to = (mpi.rank + 1) % mpi.size, from = (mpi.rank + mpi.size - 1) % mpi.size;
  std::vector<int> out(static_cast<std::size_t>(kPartitions) * kElements), in(out.size());
  MPI_Request send, receive;
  CHECK_OK(MPI_Psend_init(out.data(), kPartitions, kElements, MPI_INT, to, 0, world, MPI_INFO_NULL, &send));
  CHECK_OK(MPI_Precv_init(in.data(), kPartitions / 2, 2 * kElements, MPI_INT, from, 0, world, MPI_INFO_NULL, &receive));
  for (int round = 0; round < 20; ++round) {
    std::fill(in.begin(), in.end(), -1);
    CHECK_OK(MPI_Start(&receive));
    CHECK_OK(MPI_Start(&send));
    std::vector<std::thread> workers;
    for (int t = 0; t < kThreads; ++t) {
      workers.emplace_back([&, t] {
        for (int p = t; p < kPartitions; p += kThreads) {
          for (int i = 0; i < kElements; ++i) {
            const int at = p * kElements + i;
            out[static_cast<std::size_t>(at)] = mpi.rank * 1000000 + round * 100000 + at;
          }
          CHECK_OK(MPI_Pready(p, send));
        }
      });
    }
    for (int t = 0; t < 2; ++t) {
      workers.emplace_back([&, t] {
        for (int p = t; p < kPartitions / 2; p += 2) {
          for (int flag = 0; flag == 0;) CHECK_OK(MPI_Parrived(receive, p, &flag));
          for (int at = p * 2 * kElements; at < (p + 1) * 2 * kElements; ++at)
            CHECK_EQ(in[static_cast<std::size_t>(at)], from * 1000000 + round * 100000 + at);
        }
      });
    }
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    for (std::thread& each : workers) each.join();
    CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
}

void nobody() {
  int value[4] = {1, 2, 3, 4}, flag = 0;
  MPI_Request send, receive;
  CHECK_OK(MPI_Psend_init(value, 2, 2, MPI_INT, MPI_PROC_NULL, 0, world, MPI_INFO_NULL, &send));
  CHECK_OK(MPI_Precv_init(value, 4, 1, MPI_INT, MPI_PROC_NULL, 0, world, MPI_INFO_NULL, &receive));
  for (int round = 0; round < 3; ++round) {
    MPI_Status status;
    CHECK_OK(MPI_Start(&send));
    CHECK_OK(MPI_Start(&receive));
    CHECK_OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 0);
    CHECK_OK(MPI_Pready_range(0, 1, send));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&receive, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(value[3], 4);
  }
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
}

// Messages without partitions, and with partitions without elements.
void empty(const check::Environment& mpi) {
  MPI_Request send, receive;
  int flag = -1;
  for (const int partitions : {0, 3}) {
    CHECK_OK(MPI_Psend_init(nullptr, partitions, 0, MPI_INT, mpi.rank, 9, world, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(nullptr, partitions, 0, MPI_INT, mpi.rank, 9, world, MPI_INFO_NULL, &receive));
    CHECK_OK(MPI_Start(&receive));
    CHECK_OK(MPI_Start(&send));
    for (int p = 0; p < partitions; ++p) {
      CHECK_OK(MPI_Parrived(receive, p, &flag));
      CHECK_EQ(flag, 0);
      CHECK_OK(MPI_Pready(p, send));
      for (flag = 0; flag == 0;) CHECK_OK(MPI_Parrived(receive, p, &flag));
    }
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&receive));
  }
}

void wrong_use(const check::Environment& mpi) {
  CHECK_OK(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  int value[8] = {}, other[8] = {}, flag = 0;
  MPI_Request send, receive, ordinary, nothing = MPI_REQUEST_NULL;
  EXPECT(MPI_Psend_init(value, -1, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &send), MPI_ERR_ARG, "-1");
  EXPECT(MPI_Psend_init(value, 1, -3, MPI_INT, 0, 0, world, MPI_INFO_NULL, &send), MPI_ERR_COUNT, "-3");
  EXPECT(MPI_Psend_init(value, 1, 1, MPI_INT, mpi.size, 0, world, MPI_INFO_NULL, &send), MPI_ERR_RANK, "dest");
  EXPECT(MPI_Precv_init(value, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_INFO_NULL, &send), MPI_ERR_RANK, "source");
  EXPECT(MPI_Precv_init(value, 1, 1, MPI_INT, 0, MPI_ANY_TAG, world, MPI_INFO_NULL, &send), MPI_ERR_TAG, "tag");
  EXPECT(MPI_Precv_init(value, 1, 1, MPI_DATATYPE_NULL, 0, 0, world, MPI_INFO_NULL, &send), MPI_ERR_TYPE, "datatype");

  CHECK_OK(MPI_Psend_init(value, 4, 2, MPI_INT, mpi.rank, 0, world, MPI_INFO_NULL, &send));
  CHECK_OK(MPI_Precv_init(other, 2, 4, MPI_INT, mpi.rank, 0, world, MPI_INFO_NULL, &receive));
  EXPECT(MPI_Pready(0, send), MPI_ERR_REQUEST, "MPI_Start");
  CHECK_OK(MPI_Parrived(receive, 0, &flag));
  CHECK_EQ(flag, 1);
  CHECK_OK(MPI_Start(&send));
  CHECK_OK(MPI_Start(&receive));
  EXPECT(MPI_Pready(4, send), MPI_ERR_ARG, "partition 4");
  EXPECT(MPI_Pready(-1, send), MPI_ERR_ARG, "partition -1");
  EXPECT(MPI_Pready_range(2, 4, send), MPI_ERR_ARG, "partition 4");
  EXPECT(MPI_Pready_range(3, 1, send), MPI_ERR_ARG, "3 to 1");
  EXPECT(MPI_Pready(0, receive), MPI_ERR_REQUEST, "partitioned send");
  EXPECT(MPI_Pready(0, nothing), MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
  EXPECT(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, "partitioned receive");
  EXPECT(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG, "partition 2");
  CHECK_OK(MPI_Pready(1, send));
  // Neither request may be cancelled or freed before it is complete (section 4.2); both remain usable.
  for (MPI_Request* const active : {&send, &receive}) {
    const MPI_Request before = *active;
    EXPECT(MPI_Cancel(active), MPI_ERR_REQUEST, "is under way and cannot be cancelled");
    EXPECT(MPI_Request_free(active), MPI_ERR_REQUEST, "is under way and cannot be freed");
    CHECK(*active == before);
  }
  EXPECT(MPI_Pready(1, send), MPI_ERR_ARG, "partition 1");
  EXPECT(MPI_Pready_range(0, 3, send), MPI_ERR_ARG, "partition 1");
  const int twice[2] = {2, 2};
  EXPECT(MPI_Pready_list(2, twice, send), MPI_ERR_ARG, "partition 2");
  const int rest[3] = {3, 0, 2};  // the failed calls have marked none of these
  CHECK_OK(MPI_Pready_list(3, rest, send));
  CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  EXPECT(MPI_Pready(0, send), MPI_ERR_REQUEST, "MPI_Start");
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));

  CHECK_OK(MPI_Irecv(value, 1, MPI_INT, mpi.rank, 1, world, &ordinary));
  EXPECT(MPI_Pready(0, ordinary), MPI_ERR_REQUEST, "MPI_Psend_init");
  EXPECT(MPI_Parrived(ordinary, 0, &flag), MPI_ERR_REQUEST, "MPI_Precv_init");
  CHECK_OK(MPI_Cancel(&ordinary));
  CHECK_OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));

  // The two sides disagree about the size.
  CHECK_OK(MPI_Psend_init(value, 4, 2, MPI_INT, mpi.rank, 0, world, MPI_INFO_NULL, &send));
  CHECK_OK(MPI_Precv_init(other, 1, 7, MPI_INT, mpi.rank, 0, world, MPI_INFO_NULL, &receive));
  CHECK_OK(MPI_Start(&send));
  CHECK_OK(MPI_Start(&receive));
  CHECK_OK(MPI_Pready_range(0, 3, send));
  EXPECT(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "32 bytes");
  EXPECT(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "28 bytes");
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "all";
  const bool with_threads = which == "threads";
  const check::Environment mpi(&argc, &argv, 1, with_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  if (with_threads) {
    threads(mpi);
    return 0;
  }
  order(mpi);
  if (mpi.size > 1) ready_before_its_receive(mpi);
  if (mpi.size > 1) piecewise(mpi);
  nobody();
  empty(mpi);
  wrong_use(mpi);
}

// Channels in cases that the random mixes of channels.cpp do not reach: one case per run, with at least two ranks.
// Every thread has its own communicator, unless the case requires another arrangement, so that several channels are in
// use.
#include <mpi-ext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/check.hpp"
#include "common/network.hpp"

namespace {

constexpr int kThreads = 4;
int rank = 0;
int size = 0;

std::vector<MPI_Comm> duplicates(int count) {
  std::vector<MPI_Comm> made(static_cast<std::size_t>(count));
  for (MPI_Comm& each : made) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
  return made;
}

void free_all(std::vector<MPI_Comm>& comms) {
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_free(&each));
}

// Runs work(thread, communicator) in several threads at once.
void in_threads(const std::function<void(int, MPI_Comm)>& work, int count = kThreads) {
  std::vector<MPI_Comm> comms = duplicates(count);
  std::vector<std::thread> running;
  for (int t = 0; t < count; ++t) running.emplace_back([&, t] { work(t, comms[static_cast<std::size_t>(t)]); });
  for (std::thread& each : running) each.join();
  free_all(comms);
}

// Short and long messages around a ring, received by source and from any source.
void ring() {
  in_threads(
      [](int t, MPI_Comm comm) {
        const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
        for (int round = 0; round < 20; ++round) {
          const int count = round % 5 == 4 ? 30000 : round;
          std::vector<int> out(static_cast<std::size_t>(count) + 1, rank * 1000 + t * 100 + round), in(out.size(), -1);
          MPI_Request request;
          MPI_Status status;
          CHECK_OK(MPI_Irecv(in.data(), count + 1, MPI_INT, round % 2 == 0 ? previous : MPI_ANY_SOURCE, MPI_ANY_TAG,
                             comm, &request));
          CHECK_OK(MPI_Send(out.data(), count + 1, MPI_INT, next, round, comm));
          CHECK_OK(MPI_Wait(&request, &status));
          CHECK_EQ(status.MPI_SOURCE, previous);
          CHECK_EQ(status.MPI_TAG, round);
          for (const int each : in) CHECK_EQ(each, previous * 1000 + t * 100 + round);
        }
      },
      size > 8 ? 2 : kThreads);
}

// Rank 0 receives from any source with any tag: the messages of each rank arrive in the order in which they were sent,
// whatever their lengths are, and each arrives once.
void wildcards() {
  constexpr int kEach = 30;
  in_threads([](int /*t*/, MPI_Comm comm) {
    std::vector<int> data(20000, -1);
    if (rank != 0) {
      for (int i = 0; i < kEach; ++i) {
        data[0] = rank * 1000 + i;
        CHECK_OK(MPI_Send(data.data(), i % 6 == 5 ? 20000 : 1 + i, MPI_INT, 0, i % 3, comm));
      }
      return;
    }
    std::vector<int> next(static_cast<std::size_t>(size), 0);
    for (int i = 0; i < kEach * (size - 1); ++i) {
      MPI_Status status;
      if (i % 4 == 0) CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
      CHECK_OK(MPI_Recv(data.data(), 20000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
      int& expected = next[static_cast<std::size_t>(status.MPI_SOURCE)];
      CHECK_EQ(data[0], status.MPI_SOURCE * 1000 + expected);
      CHECK_EQ(status.MPI_TAG, expected % 3);
      ++expected;
    }
  });
}

// Threads that share one communicator take messages from one queue with matched probes: each message arrives once and
// complete.
void shared_probes() {
  constexpr int kEach = 40;
  std::vector<MPI_Comm> comms = duplicates(1);
  const MPI_Comm comm = comms[0];
  if (rank != 0) {
    for (int i = 0; i < kEach * kThreads; ++i) {
      const std::vector<int> data(static_cast<std::size_t>(i % 7 == 6 ? 20000 : 3), rank * 1000 + i);
      CHECK_OK(MPI_Send(data.data(), static_cast<int>(data.size()), MPI_INT, 0, 1, comm));
    }
  } else {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(size) * 1000);
    std::vector<std::thread> running;
    for (int t = 0; t < kThreads; ++t) {
      running.emplace_back([&, t] {
        for (int i = 0; i < kEach * (size - 1); ++i) {
          MPI_Message message = MPI_MESSAGE_NULL;
          MPI_Status status;
          int flag = 0, count = 0;
          if (t % 2 == 0) {
            CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
          } else {
            while (flag == 0) CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, 1, comm, &flag, &message, &status));
          }
          CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
          std::vector<int> data(static_cast<std::size_t>(count), -1);
          CHECK_OK(MPI_Mrecv(data.data(), count, MPI_INT, &message, MPI_STATUS_IGNORE));
          for (const int each : data) CHECK_EQ(each, data[0]);
          CHECK_EQ(data[0] / 1000, status.MPI_SOURCE);
          ++seen[static_cast<std::size_t>(data[0])];
        }
      });
    }
    for (std::thread& each : running) each.join();
    for (int from = 1; from < size; ++from) {
      for (int i = 0; i < kEach * kThreads; ++i) CHECK_EQ(seen[static_cast<std::size_t>(from * 1000 + i)].load(), 1);
    }
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  free_all(comms);
}

// Threads share one communicator and exchange messages with the same peers, each with its own tags.
void shared_tags() {
  std::vector<MPI_Comm> comms = duplicates(1);
  const int peer = rank ^ 1;
  std::vector<std::thread> running;
  for (int t = 0; t < kThreads && peer < size; ++t) {
    running.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        int out = rank * 1000 + t * 100 + round, in = -1;
        CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, peer, t, &in, 1, MPI_INT, round % 2 == 0 ? peer : MPI_ANY_SOURCE, t,
                              comms[0], MPI_STATUS_IGNORE));
        CHECK_EQ(in, peer * 1000 + t * 100 + round);
      }
    });
  }
  for (std::thread& each : running) each.join();
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  free_all(comms);
}

// Threads that use a new communicator for the first time at the same moment choose the same channel, where all their
// messages are found.
void first_use() {
  constexpr int kRounds = 40, kEach = 100;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<MPI_Comm> comms(kEach);
    for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &each));
    std::atomic<int> arrived{0};
    std::vector<std::thread> running;
    for (int t = 0; t < 2; ++t) {
      running.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          ++arrived;
          for (int spins = 0; arrived.load() < 2 * (i + 1); ++spins) {
            if (spins > 1000) std::this_thread::yield();
          }
          CHECK_OK(MPI_Send(&i, 1, MPI_INT, 0, t, comms[static_cast<std::size_t>(i)]));
        }
      });
    }
    for (std::thread& each : running) each.join();
    for (int i = 0; i < kEach; ++i) {
      for (int tag = 0; tag < 2; ++tag) {
        int found = 0, in = -1;
        CHECK_OK(MPI_Iprobe(0, tag, comms[static_cast<std::size_t>(i)], &found, MPI_STATUS_IGNORE));
        CHECK_EQ(found, 1);
        CHECK_OK(MPI_Recv(&in, 1, MPI_INT, 0, tag, comms[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE));
        CHECK_EQ(in, i);
      }
    }
    free_all(comms);
  }
}

// Every second posted receive is cancelled, and the others receive the messages in order.
void cancel() {
  constexpr int kReceives = 40;
  in_threads([](int t, MPI_Comm comm) {
    const int peer = rank ^ 1;
    if (peer >= size) return;
    int in[kReceives];
    MPI_Request requests[kReceives];
    for (int i = 0; i < kReceives; ++i) {
      in[i] = -1;
      CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, i % 4 < 2 ? peer : MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]));
    }
    for (int i = 0; i < kReceives; i += 2) CHECK_OK(MPI_Cancel(&requests[i]));
    CHECK_OK(MPI_Sendrecv(nullptr, 0, MPI_INT, peer, t, nullptr, 0, MPI_INT, peer, t, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));  // the peer's receives are also cancelled
    CHECK_OK(MPI_Sendrecv(nullptr, 0, MPI_INT, peer, 0, nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, comm,
                          MPI_STATUS_IGNORE));  // matches the first remaining receive
    for (int i = 1; i < kReceives / 2; ++i) CHECK_OK(MPI_Send(&i, 1, MPI_INT, peer, i, comm));
    MPI_Status statuses[kReceives];
    CHECK_OK(MPI_Waitall(kReceives, requests, statuses));
    for (int i = 0; i < kReceives; ++i) {
      int cancelled = -1;
      CHECK_OK(MPI_Test_cancelled(&statuses[i], &cancelled));
      CHECK_EQ(cancelled, i % 2 == 0 ? 1 : 0);
      if (i % 2 == 1) CHECK_EQ(statuses[i].MPI_TAG, i / 2);
      if (i % 2 == 1 && i > 1) CHECK_EQ(in[i], i / 2);
    }
  });
}

// The receiver of a cancelled message uses the communicator for the first time after the message is cancelled.
void cancel_unseen() {
  std::vector<MPI_Comm> comms = duplicates(3);
  for (const MPI_Comm comm : comms) {
    int value = 4, cancelled = -1;
    MPI_Status status;
    MPI_Request request;
    if (rank == 0) {
      CHECK_OK(MPI_Issend(&value, 1, MPI_INT, size - 1, 1, comm, &request));
      CHECK_OK(MPI_Cancel(&request));
      CHECK_OK(MPI_Wait(&request, &status));
      CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
      CHECK_EQ(cancelled, 1);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) CHECK_OK(MPI_Send(&value, 1, MPI_INT, size - 1, 1, comm));
    if (rank == size - 1) CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 1, comm, &status));
  }
  free_all(comms);
}

// Persistent requests of several channels and of MPI_COMM_WORLD, started and completed together, and freed while
// active.
void persistent() {
  constexpr int kComms = 5;
  const int peer = rank ^ 1;
  std::vector<MPI_Comm> comms = duplicates(kComms - 1);
  comms.push_back(MPI_COMM_WORLD);
  if (peer < size) {
    int out[kComms] = {}, in[kComms] = {};
    MPI_Request requests[2 * kComms];
    for (std::size_t i = 0; i < kComms; ++i) {
      const auto init = i % 2 == 0 ? MPI_Send_init : MPI_Ssend_init;
      CHECK_OK(init(&out[i], 1, MPI_INT, peer, 5, comms[i], &requests[i]));
      CHECK_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, 5, comms[i], &requests[kComms + i]));
    }
    for (int round = 0; round < 50; ++round) {
      for (int i = 0; i < kComms; ++i) out[i] = rank * 1000 + round * 10 + i, in[i] = -1;
      CHECK_OK(MPI_Startall(2 * kComms, requests));
      if (round % 2 == 0) {
        CHECK_OK(MPI_Waitall(2 * kComms, requests, MPI_STATUSES_IGNORE));
      } else {
        for (int left = 2 * kComms; left > 0; --left) {
          int index = MPI_UNDEFINED;
          CHECK_OK(MPI_Waitany(2 * kComms, requests, &index, MPI_STATUS_IGNORE));
          CHECK(index != MPI_UNDEFINED);
        }
      }
      for (int i = 0; i < kComms; ++i) CHECK_EQ(in[i], peer * 1000 + round * 10 + i);
    }
    // The receives are completed by other calls; the handles of the sends are freed while the sends may be active.
    for (int i = 0; i < kComms; ++i) out[i] = 7;
    CHECK_OK(MPI_Startall(2 * kComms, requests));
    for (int i = 0; i < kComms; ++i) CHECK_OK(MPI_Request_free(&requests[i]));
    CHECK_OK(MPI_Waitall(kComms, requests + kComms, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kComms; ++i) {
      CHECK_EQ(in[i], 7);
      CHECK_OK(MPI_Request_free(&requests[kComms + i]));
    }
    CHECK_OK(MPI_Sendrecv_replace(out, 1, MPI_INT, peer, 6, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  comms.pop_back();
  free_all(comms);
}

// Partitions that threads mark ready, on communicators whose plain messages use channels and the same tags.
void partitioned() {
  constexpr int kPartitions = 8;
  in_threads([](int t, MPI_Comm comm) {
    const int peer = rank ^ 1;
    if (peer >= size) return;
    int out[kPartitions] = {}, in[kPartitions] = {}, token = t, other = -1;
    MPI_Request send, receive;
    CHECK_OK(MPI_Psend_init(out, kPartitions, 1, MPI_INT, peer, 1, comm, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(in, kPartitions, 1, MPI_INT, peer, 1, comm, MPI_INFO_NULL, &receive));
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kPartitions; ++i) out[i] = rank * 1000 + t * 100 + round * 10 + i, in[i] = -1;
      MPI_Request both[] = {send, receive};
      CHECK_OK(MPI_Startall(2, both));
      for (int i = kPartitions; i-- > 0;) {
        CHECK_OK(MPI_Pready(i, both[0]));
        CHECK_OK(MPI_Sendrecv(&token, 1, MPI_INT, peer, 1, &other, 1, MPI_INT, peer, 1, comm, MPI_STATUS_IGNORE));
        CHECK_EQ(other, t);
      }
      CHECK_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
      for (int i = 0; i < kPartitions; ++i) CHECK_EQ(in[i], peer * 1000 + t * 100 + round * 10 + i);
    }
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&receive));
  });
}

// Repeatedly frees or disconnects a communicator while messages on it are pending.
void freed() {
  const int peer = rank ^ 1;
  for (int round = 0; round < 100; ++round) {
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    const int count = round % 4 == 0 ? 40000 : 10;
    std::vector<int> out(static_cast<std::size_t>(count), rank * 1000 + round), in(out.size(), -1);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (peer < size) {
      CHECK_OK(MPI_Irecv(in.data(), count, MPI_INT, peer, 1, comm, &requests[0]));
      CHECK_OK(MPI_Issend(out.data(), count, MPI_INT, peer, 1, comm, &requests[1]));
    }
    CHECK_OK(round % 3 == 0 ? MPI_Comm_disconnect(&comm) : MPI_Comm_free(&comm));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count && peer < size; ++i) CHECK_EQ(in[static_cast<std::size_t>(i)], peer * 1000 + round);
  }
}

// Messages between two groups, concurrent with messages of threads with channels.
void inter() {
  const bool odd = rank % 2 == 1;
  MPI_Comm local;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, odd ? 1 : 0, rank, &local));
  MPI_Comm between;
  CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, odd ? 0 : 1, 3, &between));
  int own = -1, others = 0;
  CHECK_OK(MPI_Comm_rank(between, &own));
  CHECK_OK(MPI_Comm_remote_size(between, &others));
  std::vector<MPI_Comm> comms = duplicates(1);
  std::thread beside([&] {
    const int peer = rank ^ 1;
    for (int round = 0; round < 100 && peer < size; ++round) {
      int in = -1;
      CHECK_OK(MPI_Sendrecv(&round, 1, MPI_INT, peer, 1, &in, 1, MPI_INT, peer, 1, comms[0], MPI_STATUS_IGNORE));
      CHECK_EQ(in, round);
    }
  });
  for (int round = 0; round < 100 && own < others; ++round) {
    int out = rank * 1000 + round, in = -1;
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, own, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, between, &status));
    CHECK_EQ(status.MPI_SOURCE, own);
    CHECK_EQ(in, (odd ? rank - 1 : rank + 1) * 1000 + round);
  }
  beside.join();
  CHECK_OK(MPI_Comm_free(&between));
  CHECK_OK(MPI_Comm_free(&local));
  free_all(comms);
}

// Communicators of parts of the job also have channels: all ranks of a host, those of the same parity on a host, and
// those of the same parity in the job, each in reverse order. Threads use all of them concurrently.
void parts() {
  std::vector<MPI_Comm> comms = duplicates(4);
  MPI_Comm host;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &host));
  CHECK_OK(MPI_Comm_free(&comms[1]));
  CHECK_OK(MPI_Comm_dup(host, &comms[1]));
  CHECK_OK(MPI_Comm_free(&comms[2]));
  CHECK_OK(MPI_Comm_split(host, rank % 2, -rank, &comms[2]));
  CHECK_OK(MPI_Comm_free(&comms[3]));
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[3]));
  std::vector<std::thread> running;
  for (const MPI_Comm comm : comms) {
    running.emplace_back([comm] {
      int own = -1, all = 0;
      CHECK_OK(MPI_Comm_rank(comm, &own));
      CHECK_OK(MPI_Comm_size(comm, &all));
      for (int round = 0; round < 50; ++round) {
        int out = own * 1000 + round, in = -1;
        const int source = (own + all - 1) % all;
        MPI_Status status;
        CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, (own + 1) % all, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &status));
        CHECK_EQ(status.MPI_SOURCE, source);
        CHECK_EQ(in, source * 1000 + round);
      }
    });
  }
  for (std::thread& each : running) each.join();
  CHECK_OK(MPI_Comm_free(&host));
  free_all(comms);
}

// One thread starts requests on several channels, and another completes them, during a collective operation.
void completed_elsewhere() {
  constexpr int kComms = 3;
  const int peer = rank ^ 1;
  std::vector<MPI_Comm> comms = duplicates(kComms);
  for (int round = 0; round < 50; ++round) {
    int out[kComms] = {}, in[kComms] = {}, sum = 0;
    MPI_Request requests[2 * kComms + 1];
    for (MPI_Request& each : requests) each = MPI_REQUEST_NULL;
    for (std::size_t i = 0; i < kComms && peer < size; ++i) {
      out[i] = rank * 1000 + round * 10 + static_cast<int>(i), in[i] = -1;
      CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, peer, 1, comms[i], &requests[i]));
      CHECK_OK(MPI_Issend(&out[i], 1, MPI_INT, peer, 1, comms[i], &requests[kComms + i]));
    }
    const int one = 1;
    CHECK_OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[0], &requests[2 * kComms]));
    std::thread([&] {
      for (;;) {
        int index = MPI_UNDEFINED;
        CHECK_OK(MPI_Waitany(2 * kComms + 1, requests, &index, MPI_STATUS_IGNORE));
        if (index == MPI_UNDEFINED) return;
      }
    }).join();
    CHECK_EQ(sum, size);
    for (int i = 0; i < kComms && peer < size; ++i) CHECK_EQ(in[i], peer * 1000 + round * 10 + i);
  }
  free_all(comms);
}

// Threads that wait receive an error if another rank revokes the communicator.
void revoke() {
  std::vector<MPI_Comm> comms = duplicates(kThreads);
  std::vector<std::thread> running;
  for (int t = 0; t < kThreads; ++t) {
    running.emplace_back([&, t] {
      const MPI_Comm comm = comms[static_cast<std::size_t>(t)];
      CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
      int value = -1, code = MPI_SUCCESS, error_class = MPI_SUCCESS;
      if (rank == 0) {
        // The others have begun to wait.
        for (int from = 1; from < size; ++from)
          CHECK_OK(MPI_Recv(&value, 1, MPI_INT, from, 100 + t, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPIX_Comm_revoke(comm));
        return;
      }
      MPI_Request request = MPI_REQUEST_NULL;
      if (t % 2 == 0) CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
      CHECK_OK(MPI_Send(&t, 1, MPI_INT, 0, 100 + t, MPI_COMM_WORLD));
      code = t % 2 == 0 ? MPI_Wait(&request, MPI_STATUS_IGNORE)
             : t == 1   ? MPI_Recv(&value, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE)
                        : MPI_Probe(0, 1, comm, MPI_STATUS_IGNORE);
      CHECK_OK(MPI_Error_class(code, &error_class));
      CHECK_EQ(error_class, MPIX_ERR_REVOKED);
    });
  }
  for (std::thread& each : running) each.join();
  free_all(comms);
}

// Starting a persistent request of a revoked communicator is an error, after which the request is inactive.
// MPI_Startall starts the requests before it.
void revoked_start() {
  constexpr int kCounts[] = {1, 100'000};
  const int peer = rank ^ 1;
  std::vector<char> attached(1 << 20);
  CHECK_OK(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  MPI_Datatype every_second;
  CHECK_OK(MPI_Type_vector(100, 1, 2, MPI_INT, &every_second));
  CHECK_OK(MPI_Type_commit(&every_second));
  std::vector<MPI_Comm> comms = duplicates(2);
  const MPI_Comm good = comms[0], bad = comms[1];
  CHECK_OK(MPI_Comm_set_errhandler(bad, MPI_ERRORS_RETURN));
  std::vector<int> out(kCounts[1], rank), in(out.size(), -1);
  std::vector<MPI_Request> refused, started;
  for (const int count : kCounts) {
    if (peer >= size) break;
    CHECK_OK(MPI_Send_init(out.data(), count, MPI_INT, peer, 1, bad, &refused.emplace_back()));
    CHECK_OK(MPI_Ssend_init(out.data(), count, MPI_INT, peer, 1, bad, &refused.emplace_back()));
    CHECK_OK(MPI_Bsend_init(out.data(), count / 2, MPI_INT, peer, 1, bad, &refused.emplace_back()));
    CHECK_OK(MPI_Recv_init(in.data(), count, MPI_INT, peer, 1, bad, &refused.emplace_back()));
    CHECK_OK(MPI_Ssend_init(out.data(), count / 200, every_second, peer, 1, bad, &refused.emplace_back()));
    CHECK_OK(MPI_Ssend_init(out.data(), count, MPI_INT, peer, 2, good, &started.emplace_back()));
  }
  CHECK_OK(MPI_Barrier(good));
  CHECK_OK(MPIX_Comm_revoke(bad));
  for (MPI_Request& each : refused) {
    CHECK_CLASS(MPI_Start(&each), MPIX_ERR_REVOKED);
    CHECK_OK(MPI_Wait(&each, MPI_STATUS_IGNORE));  // inactive
  }
  for (std::size_t i = 0; i < started.size(); ++i) {
    MPI_Request both[] = {started[i], refused[i]};
    CHECK_CLASS(MPI_Startall(2, both), MPIX_ERR_REVOKED);
    CHECK_OK(MPI_Recv(in.data(), kCounts[i], MPI_INT, peer, 2, good, MPI_STATUS_IGNORE));
    for (int at = 0; at < kCounts[i]; ++at) CHECK_EQ(in[static_cast<std::size_t>(at)], peer);
    CHECK_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
  }
  for (auto* const list : {&refused, &started}) {
    for (MPI_Request& each : *list) CHECK_OK(MPI_Request_free(&each));
  }
  void* detached = nullptr;
  int bytes = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &bytes));
  CHECK_OK(MPI_Type_free(&every_second));
  free_all(comms);
}

// Rank 1 receives a message before it has heard that the communicator is revoked. The send ends with the error if the
// message has not been received. Otherwise, rank 1 has the data as sent, although rank 0 then changes its buffer.
void revoked_data() {
  for (const int count : {1, 100'000}) {
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    std::vector<int> data(static_cast<std::size_t>(count), 5);
    int code = MPI_SUCCESS, other = MPI_SUCCESS;
    MPI_Request request;
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
      CHECK_OK(MPI_Issend(data.data(), count, MPI_INT, 1, 1, comm, &request));
      CHECK_OK(MPIX_Comm_revoke(comm));
      code = check::error_class(MPI_Wait(&request, MPI_STATUS_IGNORE));
      std::fill(data.begin(), data.end(), 6);
    } else if (rank == 1) {
      std::fill(data.begin(), data.end(), -1);
      ::usleep(100'000);
      code = check::error_class(MPI_Recv(data.data(), count, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
      for (const int each : data) CHECK(each == 5 || (each == -1 && code != MPI_SUCCESS));
    }
    if (rank < 2) {
      CHECK(code == MPI_SUCCESS || code == MPIX_ERR_REVOKED);
      CHECK_OK(MPI_Sendrecv(&code, 1, MPI_INT, 1 - rank, 3, &other, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
      // The revocation may end the receive of a message that has matched.
      const int sent = rank == 0 ? code : other, received = rank == 0 ? other : code;
      CHECK(sent == received || sent == MPI_SUCCESS);
    }
    CHECK_OK(MPI_Comm_free(&comm));
  }
}

// Duplicates MPI_COMM_WORLD, and asserts that MPI_ANY_TAG is not used; `all`: on all ranks, else not on the last one.
MPI_Comm without_any_tag(bool all) {
  MPI_Comm made;
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  if (all || rank != size - 1) CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made));
  CHECK_OK(MPI_Info_free(&info));
  return made;
}

// True if a communicator whose members all set mpi_assert_no_any_tag uses several channels.
bool several_channels() {
  const char* const channels = std::getenv("HEADRACE_CHANNELS");
  const char* const network = std::getenv("HEADRACE_NETWORK");
  const bool is_tcp = network == nullptr || std::strcmp(network, "tcp") == 0;  // the default, without a fabric
  const bool reached = check::one_host() || is_tcp;
  return reached && channels != nullptr && std::atoi(channels) > 2;
}

void check_hint(MPI_Comm comm, const char* value) {
  MPI_Info info;
  char found[16] = "";
  int length = sizeof found, flag = 0;
  CHECK_OK(MPI_Comm_get_info(comm, &info));
  CHECK_OK(MPI_Info_get_string(info, "mpi_assert_no_any_tag", &length, found, &flag));
  CHECK_EQ(flag, 1);
  CHECK_EQ(std::string(found), value);
  CHECK_OK(MPI_Info_free(&info));
}

void set_hint(MPI_Comm comm, const char* value) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", value));
  CHECK_OK(MPI_Comm_set_info(comm, info));
  CHECK_OK(MPI_Info_free(&info));
}

// On a communicator with several channels, every receive and probe returns an error for MPI_ANY_TAG.
void refused(MPI_Comm comm) {
  int value = 0, flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (const int source : {0, MPI_ANY_SOURCE}) {
    const int codes[] = {
        MPI_Recv(&value, 1, MPI_INT, source, MPI_ANY_TAG, comm, &status),
        MPI_Irecv(&value, 1, MPI_INT, source, MPI_ANY_TAG, comm, &request),
        MPI_Recv_init(&value, 1, MPI_INT, source, MPI_ANY_TAG, comm, &request),
        MPI_Probe(source, MPI_ANY_TAG, comm, &status),
        MPI_Iprobe(source, MPI_ANY_TAG, comm, &flag, &status),
        MPI_Mprobe(source, MPI_ANY_TAG, comm, &message, &status),
        MPI_Improbe(source, MPI_ANY_TAG, comm, &flag, &message, &status),
        MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, source, MPI_ANY_TAG, comm, &status),
        MPI_Isendrecv(&value, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, source, MPI_ANY_TAG, comm, &request),
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, 1, source, MPI_ANY_TAG, comm, &status),
        MPI_Isendrecv_replace(&value, 1, MPI_INT, 0, 1, source, MPI_ANY_TAG, comm, &request)};
    for (const int each : codes) CHECK_EQ(check::error_class(each), MPI_ERR_TAG);
    CHECK(check::error_text(codes[0]).find("mpi_assert_no_any_tag") != std::string::npos);
  }
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

// The hint with which a communicator uses several channels: queries return it, and it can be withdrawn only if the
// communicator uses one channel. Such a communicator accepts MPI_ANY_TAG, even if some members have set the hint.
void asserted() {
  const bool several = several_channels();
  for (const bool all : {true, false}) {
    MPI_Comm comm = without_any_tag(all);
    check_hint(comm, all || rank != size - 1 ? "true" : "false");
    int out = rank, in = -1;
    MPI_Status status;
    // The halves have different tags, and so different channels.
    CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, rank, &in, 1, MPI_INT, MPI_ANY_SOURCE,
                          (rank + size - 1) % size, comm, &status));
    CHECK_EQ(in, (rank + size - 1) % size);
    CHECK_OK(MPI_Barrier(comm));
    if (all && several) refused(comm);
    set_hint(comm, "false");
    check_hint(comm, all && several ? "true" : "false");
    if (!all || !several) {
      CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
      CHECK_EQ(in, rank);
      CHECK_EQ(status.MPI_TAG, 5);
      // A later assertion is stored, and changes nothing for messages under way.
      CHECK_OK(MPI_Barrier(comm));
      CHECK_OK(MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 6, comm));
      set_hint(comm, "true");
      check_hint(comm, "true");
      CHECK_OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 6, comm, MPI_STATUS_IGNORE));
      CHECK_EQ(in, (rank + size - 1) % size);
    }
    CHECK_OK(MPI_Comm_free(&comm));
  }
}

// Threads wait on several channels of one communicator when another rank revokes it, and calls on channels that are
// used for the first time afterwards fail as well.
void asserted_revoke() {
  MPI_Comm comm = without_any_tag(true);
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  std::vector<std::thread> running;
  for (int t = 0; t < kThreads; ++t) {
    running.emplace_back([&, t] {
      int value = -1;
      if (rank == 0) {
        for (int from = 1; from < size; ++from)
          CHECK_OK(MPI_Recv(&value, 1, MPI_INT, from, 100 + t, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
      }
      MPI_Request requests[3];
      for (int i = 0; i < 3; ++i)
        CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, t + 10 * i, comm, &requests[i]));
      CHECK_OK(MPI_Send(&t, 1, MPI_INT, 0, 100 + t, MPI_COMM_WORLD));
      for (MPI_Request& each : requests)
        CHECK_EQ(check::error_class(MPI_Wait(&each, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
      CHECK_EQ(check::error_class(MPI_Probe(0, 1000 + t, comm, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
    });
  }
  for (std::thread& each : running) each.join();
  if (rank == 0) CHECK_OK(MPIX_Comm_revoke(comm));
  CHECK_OK(MPI_Comm_free(&comm));
}

// The last rank ends while the threads of the others wait for it.
void death(bool recovers) {
  std::vector<MPI_Comm> comms = duplicates(kThreads);
  std::vector<std::thread> running;
  for (int t = 0; t < kThreads; ++t) {
    running.emplace_back([&, t] {
      const MPI_Comm comm = comms[static_cast<std::size_t>(t)];
      CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
      int value = -1, error_class = MPI_SUCCESS;
      if (rank == size - 1) {
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 100 + t, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
      }
      if (rank == 0) CHECK_OK(MPI_Send(&t, 1, MPI_INT, size - 1, 100 + t, MPI_COMM_WORLD));
      const int code = MPI_Recv(&value, 1, MPI_INT, size - 1, 1, comm, MPI_STATUS_IGNORE);
      CHECK_OK(MPI_Error_class(code, &error_class));
      CHECK_EQ(error_class, MPIX_ERR_PROC_FAILED);
    });
  }
  for (std::thread& each : running) each.join();
  if (rank == size - 1) std::_Exit(recovers ? 0 : 3);
  if (rank == 0) std::puts("told");
  MPI_Finalize();
  std::exit(0);
}

// The network between two hosts fails while threads of both wait for one another: every wait ends with an error.
void cut() {
  std::vector<MPI_Comm> comms = duplicates(kThreads);
  for (const MPI_Comm comm : comms) CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  std::atomic<int> ready{0};
  std::vector<std::thread> running;
  for (int t = 0; t < kThreads; ++t) {
    running.emplace_back([&, t] {
      const MPI_Comm comm = comms[static_cast<std::size_t>(t)];
      std::vector<int> data(100000, t);
      CHECK_OK(
          MPI_Sendrecv(&t, 1, MPI_INT, 1 - rank, 5, data.data(), 1, MPI_INT, 1 - rank, 5, comm, MPI_STATUS_IGNORE));
      ++ready;
      const int code = t == 0   ? MPI_Recv(data.data(), 1, MPI_INT, 1 - rank, 1, comm, MPI_STATUS_IGNORE)
                       : t == 1 ? MPI_Recv(data.data(), 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE)
                       : t == 2 ? MPI_Probe(1 - rank, 1, comm, MPI_STATUS_IGNORE)
                                : MPI_Send(data.data(), 100000, MPI_INT, 1 - rank, 2, comm);
      CHECK_EQ(check::error_class(code), MPIX_ERR_PROC_FAILED);
      // A persistent request to the other host cannot be started, and is inactive after the failed MPI_Start.
      MPI_Request request;
      CHECK_OK((t % 2 == 0 ? MPI_Send_init : MPI_Ssend_init)(&t, 1, MPI_INT, 1 - rank, 3, comm, &request));
      CHECK_CLASS(MPI_Start(&request), MPIX_ERR_PROC_FAILED);
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Request_free(&request));
      CHECK(check::error_class(MPI_Send(&t, 1, MPI_INT, 1 - rank, 3, comm)) != MPI_SUCCESS);
      CHECK(check::error_class(MPI_Recv(data.data(), 1, MPI_INT, 1 - rank, 3, comm, MPI_STATUS_IGNORE)) != MPI_SUCCESS);
    });
  }
  while (ready != kThreads) std::this_thread::yield();
  if (rank == 1) check::cut_network();
  for (std::thread& each : running) each.join();
  while (rank == 1) ::pause();  // the end of rank 0 ends the job
  std::_Exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  rank = check::world_rank();
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const struct {
    const char* name;
    void (*run)();
  } cases[] = {{"ring", ring},
               {"wildcards", wildcards},
               {"shared_probes", shared_probes},
               {"shared_tags", shared_tags},
               {"first_use", first_use},
               {"cancel", cancel},
               {"cancel_unseen", cancel_unseen},
               {"persistent", persistent},
               {"partitioned", partitioned},
               {"freed", freed},
               {"inter", inter},
               {"parts", parts},
               {"completed_elsewhere", completed_elsewhere},
               {"revoke", revoke},
               {"revoked_start", revoked_start},
               {"revoked_data", revoked_data},
               {"asserted", asserted},
               {"asserted_revoke", asserted_revoke},
               {"cut", cut},
               {"death", [] { death(false); }},
               {"recovery", [] { death(true); }}};
  const char* const wanted = argc > 1 ? argv[1] : "";
  bool found = false;
  for (const auto& each : cases) {
    // "all" runs only the cases after which the job ends successfully.
    const bool mortal = std::strcmp(each.name, "death") == 0 || std::strcmp(each.name, "recovery") == 0 ||
                        std::strcmp(each.name, "cut") == 0;
    if (std::strcmp(wanted, each.name) != 0 && (mortal || std::strcmp(wanted, "all") != 0)) continue;
    found = true;
    each.run();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK(found);
  MPI_Finalize();
}

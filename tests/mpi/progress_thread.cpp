// Progress while a rank computes: rank 0 makes no MPI call until the other ranks have received everything that they
// need from it, which they report without MPI. Without a progress thread (HEADRACE_PROGRESS_THREAD) these programs
// never end.
//
//   mpi_progress_thread send | receive | collective | persistent | calls | ask | exit
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "common/flags.hpp"

namespace {

constexpr int kRounds = 6;
constexpr int kShort = 100;
constexpr int kLong = 1 << 20;  // longer than any eager message and than a ring

using Bytes = std::vector<unsigned char>;

struct Job {
  const check::Environment& mpi;
  check::Flags& flags;
};

Bytes poisoned(int bytes) { return Bytes(static_cast<std::size_t>(bytes), 0xee); }

Bytes message(int round, int rank, int bytes) {
  Bytes data(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] =
        static_cast<unsigned char>(131 * i + 17 * static_cast<std::size_t>(rank) + static_cast<std::size_t>(round));
  }
  return data;
}

// Rank 0 has started to send; the others receive it while it computes.
void send(const Job& job, int round) {
  if (job.mpi.rank != 0) {
    Bytes data = poisoned(kLong);
    CHECK_OK(MPI_Recv(data.data(), kLong, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(data == message(round, 0, kLong));
    return job.flags.set(round);
  }
  const Bytes data = message(round, 0, kLong);
  std::vector<MPI_Request> requests;
  for (int to = 1; to < job.mpi.size; ++to) {
    CHECK_OK(MPI_Isend(data.data(), kLong, MPI_BYTE, to, 7, MPI_COMM_WORLD, &requests.emplace_back()));
  }
  job.flags.await_others(round);
  CHECK_OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
}

// Rank 0 has started to receive; the other ranks' synchronous sends complete while it computes.
void receive(const Job& job, int round) {
  const int bytes = round % 2 == 0 ? kLong : kShort;
  if (job.mpi.rank != 0) {
    const Bytes data = message(round, job.mpi.rank, bytes);
    CHECK_OK(MPI_Ssend(data.data(), bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD));
    return job.flags.set(round);
  }
  std::vector<Bytes> data(static_cast<std::size_t>(job.mpi.size - 1), poisoned(bytes));
  std::vector<MPI_Request> requests;
  for (Bytes& each : data) {
    const int from = static_cast<int>(requests.size()) + 1;
    CHECK_OK(MPI_Irecv(each.data(), bytes, MPI_BYTE, from, 7, MPI_COMM_WORLD, &requests.emplace_back()));
  }
  job.flags.await_others(round);
  CHECK_OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (std::size_t i = 0; i < data.size(); ++i) CHECK(data[i] == message(round, static_cast<int>(i) + 1, bytes));
}

void reduce(const Job& job, int round, bool persistent) {
  const int count = round % 2 == 0 ? 3 : kLong / 8;
  std::vector<double> in(static_cast<std::size_t>(count));
  std::vector<double> out(static_cast<std::size_t>(count), -1);
  for (int i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = i + job.mpi.rank + round;
  MPI_Request request;
  if (persistent) {
    CHECK_OK(
        MPI_Allreduce_init(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    CHECK_OK(MPI_Start(&request));
  } else {
    CHECK_OK(MPI_Iallreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
  }
  if (job.mpi.rank == 0) job.flags.await_others(round);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (job.mpi.rank != 0) job.flags.set(round);
  const double ranks = job.mpi.size * (job.mpi.size - 1) / 2.0;
  for (int i = 0; i < count; ++i) CHECK_EQ(out[static_cast<std::size_t>(i)], job.mpi.size * (i + round) + ranks);
  if (persistent) CHECK_OK(MPI_Request_free(&request));
}

// Reduction operations that rank 0 executes outside the program's thread wait until the program's thread has tested the
// request: a test must not wait for a step of the progress thread, however long the step takes.
pthread_t program;
std::atomic<bool> adding{false};  // set by the progress thread
std::atomic<bool> asked{false};   // set by the program
bool waits_for_questions = false;

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  if (waits_for_questions && !pthread_equal(program, pthread_self())) {
    adding = true;
    while (!asked) sched_yield();
  }
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void ask(const Job& job, int round) {
  program = pthread_self();
  waits_for_questions = job.mpi.rank == 0;
  adding = asked = false;
  const int count = kLong / 8;
  std::vector<int> in(static_cast<std::size_t>(count));
  std::vector<int> out(static_cast<std::size_t>(count), -1);
  for (int i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = i + job.mpi.rank + round;
  MPI_Op op;
  MPI_Request request;
  CHECK_OK(MPI_Op_create(add, 1, &op));
  CHECK_OK(MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, op, MPI_COMM_WORLD, &request));
  if (job.mpi.rank == 0) {
    while (!adding) sched_yield();
    for (int i = 0; i < 20; ++i) {
      int flag = -1;
      MPI_Status status;
      CHECK_OK(MPI_Test(&request, &flag, &status));
      CHECK_EQ(flag, 0);
      CHECK_OK(MPI_Testall(1, &request, &flag, &status));
      CHECK_EQ(flag, 0);
      CHECK_OK(MPI_Request_get_status(request, &flag, &status));
      CHECK_EQ(flag, 0);
      MPI_Request none = MPI_REQUEST_NULL;
      CHECK_OK(MPI_Test(&none, &flag, &status));
      CHECK_EQ(flag, 1);
    }
    asked = true;
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  const int ranks = job.mpi.size * (job.mpi.size - 1) / 2;
  for (int i = 0; i < count; ++i) CHECK_EQ(out[static_cast<std::size_t>(i)], job.mpi.size * (i + round) + ranks);
  CHECK_OK(MPI_Op_free(&op));
}

// The program calls MPI without a pause: the thread does not interfere, and nothing is handled twice.
void calls(const Job& job, int round) {
  const int to = (job.mpi.rank + 1) % job.mpi.size;
  const int from = (job.mpi.rank + job.mpi.size - 1) % job.mpi.size;
  for (int i = 0; i < 300; ++i) {
    const int bytes = i % 50 == 0 ? kLong / 4 : i % 3 == 0 ? 4000 : 8;
    const Bytes data = message(round + i, job.mpi.rank, bytes);
    Bytes in = poisoned(bytes);
    CHECK_OK(MPI_Sendrecv(data.data(), bytes, MPI_BYTE, to, i, in.data(), bytes, MPI_BYTE, from, i, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK(in == message(round + i, from, bytes));
  }
}

const std::map<std::string, std::function<void(const Job&, int)>> kCases = {
    {"send", send},
    {"receive", receive},
    {"collective", [](const Job& job, int round) { reduce(job, round, false); }},
    {"persistent", [](const Job& job, int round) { reduce(job, round, true); }},
    {"calls", calls},
    {"ask", ask},
    // Exits while the progress thread has work left. The launcher treats that as an error, which the test
    // expects.
    {"exit",
     [](const Job& job, int) {
       int word = 0;
       MPI_Request request;
       MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
       job.flags.set(1);
       job.flags.await_others(1);
       std::exit(0);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !kCases.contains(argv[1])) {
    std::fprintf(stderr, "usage: mpi_progress_thread send|receive|collective|persistent|calls|ask|exit\n");
    return 2;
  }
  const check::Environment mpi(&argc, &argv);
  check::Flags flags(mpi);
  for (int round = 1; round <= kRounds; ++round) kCases.at(argv[1])({mpi, flags}, round);
  return 0;
}

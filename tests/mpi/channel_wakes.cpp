// Threads that sleep while channels are open, one case per run.
//
// self: what another thread of rank 0 completes wakes the threads that sleep on channels at once. All threads share one
// core, so each of them sleeps for a part of the time that it has waited, up to 50 ms. A thread that nobody wakes
// notices what has happened at the end of such a sleep: after 25 ms on average.
//
// quiet: a progress thread rests while nothing moves, and still makes progress for a program that computes.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kEach = 8;  // threads that wait in the same way
constexpr int kAttempts = 3;
constexpr int kLong = 100'000;  // not sent eagerly
constexpr double kWait = 0.9;   // after which sleeps have their greatest length
constexpr double kSoon = 12e-3;

// A thread that waits, and the call of another thread that ends its wait.
struct Waiter {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<int> data = std::vector<int>(kLong, -1);
  double ended = 0;
};
struct Kind {
  const char* name;
  std::function<void(Waiter&)> prepare, wait, end, check;
};

void nothing(Waiter& /*waiter*/) {}

void check_values(const std::vector<int>& data, int wanted) {
  for (const int each : data) CHECK_EQ(each, wanted);
}

void send(Waiter& waiter) {
  const int value = 7;
  CHECK_OK(MPI_Send(&value, 1, MPI_INT, 0, 1, waiter.comm));
}

void receive(Waiter& waiter) {
  std::vector<int> in(kLong, -1);
  CHECK_OK(MPI_Recv(in.data(), kLong, MPI_INT, 0, 1, waiter.comm, MPI_STATUS_IGNORE));
  check_values(in, 5);
}

void is_cancelled(const MPI_Status& status) {
  int cancelled = -1;
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
}

void wait_for_cancelled(Waiter& waiter) {
  MPI_Request request = waiter.request;
  MPI_Status status;
  CHECK_OK(MPI_Wait(&request, &status));
  is_cancelled(status);
}

void cancel(Waiter& waiter) { CHECK_OK(MPI_Cancel(&waiter.request)); }

const std::array<Kind, 5> kKinds = {{
    {"MPI_Recv", nothing,
     [](Waiter& waiter) { CHECK_OK(MPI_Recv(waiter.data.data(), 1, MPI_INT, 0, 1, waiter.comm, MPI_STATUS_IGNORE)); },
     send, [](Waiter& waiter) { CHECK_EQ(waiter.data[0], 7); }},
    {"MPI_Probe", nothing,
     [](Waiter& waiter) { CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, waiter.comm, MPI_STATUS_IGNORE)); }, send,
     [](Waiter& waiter) {
       CHECK_OK(MPI_Recv(waiter.data.data(), 1, MPI_INT, 0, 1, waiter.comm, MPI_STATUS_IGNORE));
       CHECK_EQ(waiter.data[0], 7);
     }},
    {"MPI_Send", [](Waiter& waiter) { std::fill(waiter.data.begin(), waiter.data.end(), 5); },
     [](Waiter& waiter) { CHECK_OK(MPI_Send(waiter.data.data(), kLong, MPI_INT, 0, 1, waiter.comm)); }, receive,
     nothing},
    {"MPI_Wait for a receive",
     [](Waiter& waiter) {
       CHECK_OK(MPI_Irecv(waiter.data.data(), kLong, MPI_INT, 0, 1, waiter.comm, &waiter.request));
     },
     wait_for_cancelled, cancel, [](Waiter& waiter) { check_values(waiter.data, -1); }},
    {"MPI_Wait for a send",
     [](Waiter& waiter) {
       CHECK_OK(MPI_Issend(waiter.data.data(), kLong, MPI_INT, 0, 1, waiter.comm, &waiter.request));
     },
     wait_for_cancelled, cancel, nothing},
}};

// Time itself is the condition for which these tests wait: sleeps become longer as it passes.
void pass_time(double seconds) {
  std::mutex mutex;
  std::unique_lock<std::mutex> lock(mutex);
  std::condition_variable().wait_for(lock, std::chrono::duration<double>(seconds), [] { return false; });
}

// Returns the mean time, in seconds, between the call that ends a wait and the end of the wait, for each kind.
std::array<double, kKinds.size()> late() {
  std::vector<Waiter> waiters(kKinds.size() * kEach);
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &waiters[i].comm));
    kKinds[i / kEach].prepare(waiters[i]);
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    threads.emplace_back([&waiter = waiters[i], &kind = kKinds[i / kEach]] {
      kind.wait(waiter);
      waiter.ended = MPI_Wtime();
    });
  }
  pass_time(kWait);
  std::array<double, kKinds.size()> sums{};
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    const double before = MPI_Wtime();
    kKinds[i / kEach].end(waiters[i]);
    threads[i].join();
    kKinds[i / kEach].check(waiters[i]);
    sums[i / kEach] += (waiters[i].ended - before) / kEach;
    CHECK_OK(MPI_Comm_free(&waiters[i].comm));
  }
  return sums;
}

// Confines this process to one of its cores.
void share_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) std::perror("sched_setaffinity");
}

void self() {
  std::array<bool, kKinds.size()> soon{};
  if (check::world_rank() != 0) soon.fill(true);
  // Beside a load, a thread that has been woken may have to wait for the core.
  for (int attempt = 0; attempt < kAttempts && !std::ranges::all_of(soon, [](bool each) { return each; }); ++attempt) {
    const auto found = late();
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      std::printf("%s: ends %.1f ms late\n", kKinds[i].name, found[i] * 1e3);
      soon[i] = soon[i] || found[i] < kSoon;
    }
  }
  for (std::size_t i = 0; i < kKinds.size(); ++i) CHECK(soon[i]);
}

// Returns how often the progress thread of this process has left its core; -1: there is no such thread.
long switches() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name, word;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "mpi progress") continue;
    long sum = 0, number = 0;
    std::ifstream status(task.path() / "status");
    while (status >> word) {
      if (word.ends_with("voluntary_ctxt_switches:") && status >> number) sum += number;
    }
    return sum;
  }
  return -1;
}

std::atomic<bool> has_arrived{false};

void quiet() {
  constexpr double kIdle = 0.6;  // after which rests have their greatest length, 10 ms
  constexpr double kCounted = 0.5;
  constexpr long kFew = 500;
  constexpr int kCount = 1 << 20;
  const int rank = check::world_rank();
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  int own = static_cast<int>(::getpid()), other = -1;
  CHECK_OK(MPI_Sendrecv(&own, 1, MPI_INT, 1 - rank, 1, &other, 1, MPI_INT, 1 - rank, 1, comm, MPI_STATUS_IGNORE));
  pass_time(kIdle);
  const long before = switches();
  CHECK(before >= 0);
  pass_time(kCounted);
  const long counted = switches() - before;
  std::printf("rank %d: the progress thread has run %ld times in %.1f s\n", rank, counted, kCounted);
  CHECK(counted < kFew);
  // Rank 0 is outside MPI until rank 1 has the whole message.
  std::signal(SIGUSR1, [](int) { has_arrived = true; });
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  std::vector<int> data(kCount, rank == 0 ? 5 : -1);
  if (rank == 0) {
    MPI_Request request;
    CHECK_OK(MPI_Isend(data.data(), kCount, MPI_INT, 1, 2, comm, &request));
    while (!has_arrived) std::this_thread::yield();
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    CHECK_OK(MPI_Recv(data.data(), kCount, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(::kill(static_cast<pid_t>(other), SIGUSR1), 0);
  }
  check_values(data, 5);
  CHECK_OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  if (wanted == "self") share_core();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  CHECK(wanted == "self" || wanted == "quiet");
  wanted == "self" ? self() : quiet();
  MPI_Finalize();
}

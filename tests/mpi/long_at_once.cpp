// Long messages in both directions at once, copied in calls of this thread, in calls of other threads, or by a progress
// thread. Meanwhile the program does everything that is allowed: tests requests with all functions, starts others,
// frees requests and communicators, cancels, sends short messages. Every byte is checked, and a buffer is overwritten
// as soon as the program may use it again.
//
//   mpi_long_at_once asked | freed | threads
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr std::size_t kGuard = 4096;
constexpr unsigned char kSpoilt = 0xaa;

unsigned char byte_at(std::size_t at, unsigned message) {
  return static_cast<unsigned char>((at * 2654435761U >> 11) + message * 37U);
}

// One message: its properties are derived from the seed, so that both sides know them.
struct Message {
  std::vector<unsigned char> data;
  std::size_t bytes = 0;
  unsigned number = 0;
  bool sent = false;  // false: received

  Message(unsigned seed, int from, int to, int index, bool is_sent, std::size_t most) : sent(is_sent) {
    std::mt19937 random(seed + 7919U * static_cast<unsigned>(from) + 104729U * static_cast<unsigned>(to) +
                        1299709U * static_cast<unsigned>(index));
    bytes = 16384 + random() % (most - 16384);
    number = static_cast<unsigned>(random());
    data.assign(bytes + kGuard, kSpoilt);
    for (std::size_t i = 0; is_sent && i < bytes; ++i) data[i] = byte_at(i, number);
  }
  [[nodiscard]] int count() const { return static_cast<int>(bytes); }

  // Called when the message is complete: the program may use the buffer again.
  void settle() {
    if (!sent) {
      for (std::size_t i = 0; i < bytes; ++i) {
        if (data[i] == byte_at(i, number)) continue;
        check::fail(__FILE__, __LINE__, "byte " + std::to_string(i) + " of " + std::to_string(bytes) + " is wrong");
      }
      for (std::size_t i = bytes; i < data.size(); ++i) CHECK_EQ(data[i], kSpoilt);
    }
    std::memset(data.data(), kSpoilt, data.size());
  }
};

struct Job {
  const check::Environment& mpi;
  unsigned seed;
  std::size_t most;  // maximum message size in bytes
};

// Pending messages, and those that have been settled.
class Exchange {
 public:
  void receive(const Job& job, int from, int index, int tag, MPI_Comm comm) {
    Message& m = messages_.emplace_back(job.seed, from, job.mpi.rank, index, false, job.most);
    CHECK_OK(MPI_Irecv(m.data.data(), m.count(), MPI_BYTE, from, tag, comm, &requests_.emplace_back()));
  }
  void send(const Job& job, int to, int index, int tag, MPI_Comm comm) {
    Message& m = messages_.emplace_back(job.seed, job.mpi.rank, to, index, true, job.most);
    CHECK_OK(MPI_Isend(m.data.data(), m.count(), MPI_BYTE, to, tag, comm, &requests_.emplace_back()));
  }
  // Settles the messages that were completed since the last call.
  void settle() {
    settled_.resize(messages_.size());
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (settled_[i] || requests_[i] != MPI_REQUEST_NULL) continue;
      messages_[i].settle();
      settled_[i] = true;
    }
  }
  [[nodiscard]] bool over() const {
    return std::all_of(requests_.begin(), requests_.end(), [](MPI_Request r) { return r == MPI_REQUEST_NULL; });
  }
  // Tests requests with one randomly chosen function.
  void ask(std::mt19937& random) {
    const int count = static_cast<int>(requests_.size());
    int flag = -1;
    int index = -1;
    int found = -1;
    std::vector<int> indices(requests_.size());
    MPI_Request& one = requests_[random() % requests_.size()];
    switch (random() % 8) {
      case 0:
        CHECK_OK(MPI_Test(&one, &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(flag != 0, one == MPI_REQUEST_NULL);
        return;
      case 1:
        CHECK_OK(MPI_Testall(count, requests_.data(), &flag, MPI_STATUSES_IGNORE));
        CHECK_EQ(flag != 0, over());
        return;
      case 2:
        CHECK_OK(MPI_Testany(count, requests_.data(), &index, &flag, MPI_STATUS_IGNORE));
        if (flag != 0 && index != MPI_UNDEFINED) CHECK_EQ(requests_[static_cast<std::size_t>(index)], MPI_REQUEST_NULL);
        if (flag != 0 && index == MPI_UNDEFINED) CHECK(over());
        return;
      case 3:
        CHECK_OK(MPI_Testsome(count, requests_.data(), &found, indices.data(), MPI_STATUSES_IGNORE));
        for (int i = 0; i < found; ++i) {
          CHECK_EQ(requests_[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])], MPI_REQUEST_NULL);
        }
        if (found == MPI_UNDEFINED) CHECK(over());
        return;
      case 4:
        CHECK_OK(MPI_Request_get_status(one, &flag, MPI_STATUS_IGNORE));
        if (flag == 0) return;
        CHECK_OK(MPI_Test(&one, &flag, MPI_STATUS_IGNORE));  // a reported completion stays
        CHECK_EQ(flag, 1);
        return;
      case 5:
        CHECK_OK(MPI_Request_get_status_all(count, requests_.data(), &flag, MPI_STATUSES_IGNORE));
        if (flag == 0) return;
        CHECK_OK(MPI_Testall(count, requests_.data(), &flag, MPI_STATUSES_IGNORE));
        CHECK_EQ(flag, 1);
        return;
      case 6:
        CHECK_OK(MPI_Request_get_status_any(count, requests_.data(), &index, &flag, MPI_STATUS_IGNORE));
        if (flag == 0 || index == MPI_UNDEFINED) return;
        CHECK_OK(MPI_Test(&requests_[static_cast<std::size_t>(index)], &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(flag, 1);
        return;
      default:
        CHECK_OK(MPI_Request_get_status_some(count, requests_.data(), &found, indices.data(), MPI_STATUSES_IGNORE));
        for (int i = 0; i < found; ++i) {
          CHECK_OK(MPI_Test(&requests_[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])], &flag,
                            MPI_STATUS_IGNORE));
          CHECK_EQ(flag, 1);
        }
    }
  }
  void wait() {
    CHECK_OK(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    settle();
  }
  // Frees the requests of the messages sent so far; the receiver reports when their buffers may be reused.
  void free_sends() {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (messages_[i].sent && requests_[i] != MPI_REQUEST_NULL) CHECK_OK(MPI_Request_free(&requests_[i]));
    }
  }

 private:
  std::vector<Message> messages_;
  std::vector<MPI_Request> requests_;
  std::vector<bool> settled_;
};

int next_of(const Job& job) { return (job.mpi.rank + 1) % job.mpi.size; }
int previous_of(const Job& job) { return (job.mpi.rank + job.mpi.size - 1) % job.mpi.size; }

// Messages around the ranks in both directions, with tests between them and until all are complete.
void asked(const Job& job) {
  std::mt19937 random(job.seed + static_cast<unsigned>(job.mpi.rank));
  constexpr int kMessages = 4;
  Exchange exchange;
  for (int m = 0; m < kMessages; ++m) {
    exchange.receive(job, previous_of(job), 2 * m, 2 * m, MPI_COMM_WORLD);
    if (random() % 2 == 0) exchange.ask(random);
    exchange.send(job, next_of(job), 2 * m, 2 * m, MPI_COMM_WORLD);
    exchange.send(job, previous_of(job), 2 * m + 1, 2 * m + 1, MPI_COMM_WORLD);
    if (random() % 2 == 0) exchange.ask(random);
    exchange.receive(job, next_of(job), 2 * m + 1, 2 * m + 1, MPI_COMM_WORLD);
  }
  while (!exchange.over()) {
    exchange.ask(random);
    exchange.settle();
    // Sometimes the thread is outside MPI.
    if (random() % 64 == 0) std::this_thread::yield();
  }
  exchange.settle();
}

// Frees requests and communicators, and cancels receives, while messages are pending.
void freed(const Job& job) {
  constexpr int kMessages = 3;
  std::mt19937 random(job.seed + static_cast<unsigned>(job.mpi.rank));
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  Exchange exchange;
  Exchange given_up;
  int never = -1;
  MPI_Request cancelled;
  CHECK_OK(MPI_Irecv(&never, 1, MPI_INT, previous_of(job), 99, MPI_COMM_WORLD, &cancelled));
  for (int m = 0; m < kMessages; ++m) {
    exchange.receive(job, previous_of(job), m, m, comm);
    if (m != 0) {
      exchange.send(job, next_of(job), m, m, comm);
      if (random() % 2 == 0) exchange.ask(random);
      continue;
    }
    // The buffer of this message is kept until the receiver has replied.
    given_up.send(job, next_of(job), m, m, comm);
    given_up.free_sends();
  }
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Cancel(&cancelled));
  MPI_Status status;
  CHECK_OK(MPI_Wait(&cancelled, &status));
  int flag = 0;
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, 1);
  exchange.wait();
  char word = 0;
  CHECK_OK(MPI_Sendrecv(&word, 1, MPI_CHAR, previous_of(job), 50, &word, 1, MPI_CHAR, next_of(job), 50, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
  given_up.settle();
}

// Some threads exchange long messages, others short ones.
void threads(const Job& job) {
  constexpr int kThreads = 4;
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; ++t) {
    all.emplace_back([&job, t] {
      const int tag = 1000 * (t + 1);
      std::mt19937 random(job.seed + static_cast<unsigned>(kThreads * job.mpi.rank + t));
      if (t % 2 == 0) {
        for (int round = 0; round < 3; ++round) {
          Exchange exchange;
          for (int m = 0; m < 2; ++m) {
            exchange.receive(job, previous_of(job), tag + m, tag + m, MPI_COMM_WORLD);
            exchange.send(job, next_of(job), tag + m, tag + m, MPI_COMM_WORLD);
          }
          for (int i = static_cast<int>(random() % 100); i > 0; --i) {
            exchange.ask(random);
            exchange.settle();
          }
          exchange.wait();
        }
        return;
      }
      for (int round = 0; round < 400; ++round) {
        const int out = 1000 * job.mpi.rank + round;
        int in = -1;
        CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, next_of(job), tag, &in, 1, MPI_INT, previous_of(job), tag,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(in, 1000 * previous_of(job) + round);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

const std::map<std::string, std::function<void(const Job&)>> kCases = {
    {"asked", asked}, {"freed", freed}, {"threads", threads}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !kCases.contains(argv[1])) {
    std::fprintf(stderr, "usage: mpi_long_at_once asked|freed|threads\n");
    return 2;
  }
  const std::string mode = argv[1];
  const check::Environment mpi(&argc, &argv, 2, mode == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  unsigned seed = std::random_device{}();
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  if (mpi.rank == 0) std::printf("seed %u\n", seed);
  for (unsigned round = 0; round < 6; ++round) {
    kCases.at(mode)({mpi, seed + round, mpi.size > 2 ? std::size_t{1} << 20 : std::size_t{4} << 20});
  }
  return 0;
}

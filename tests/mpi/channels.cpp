// Channels: threads of two ranks that exchange messages on a communicator of each thread, on one that all share and on
// MPI_COMM_WORLD, with every kind of send, receive and wait, with wildcards, and mixed with collectives and with
// operations on a window of each thread; then the rare cases one at a time. Every value is checked. Arguments: threads,
// rounds, seed (default, or 0: the time; printed), "messages" to leave out collectives and windows.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "common/check.hpp"
#include "rma/window_mix.hpp"

namespace {

constexpr int kMostMessages = 8;
constexpr int kSizes[] = {0, 1, 2, 25, 500, 5000, 20000, 70000};  // integers

struct Message {
  MPI_Comm comm;
  int tag;
  int count;
  int first;  // value of the first integer
};

struct Thread {
  int number;
  int rank;
  std::mt19937 random;  // draws the same on both ranks
  MPI_Comm own;
  MPI_Comm shared;
  MPI_Datatype spread;          // every second integer
  rma_test::WindowMix* window;  // null: messages alone
  [[nodiscard]] int peer() const { return 1 - rank; }
  int draw(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
};

int value_of(const Message& message, int i) { return message.first + 7 * i; }

std::vector<int> data_of(const Message& message) {
  std::vector<int> data(static_cast<std::size_t>(message.count));
  for (int i = 0; i < message.count; ++i) data[static_cast<std::size_t>(i)] = value_of(message, i);
  return data;
}

void check_data(const Message& message, const std::vector<int>& data, int stride) {
  for (int i = 0; i < message.count; ++i)
    CHECK_EQ(data[static_cast<std::size_t>(i) * static_cast<std::size_t>(stride)], value_of(message, i));
}

void check_status(const Message& message, int peer, const MPI_Status& status) {
  int count = -1;
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, message.count);
  CHECK_EQ(status.MPI_SOURCE, peer);
  CHECK_EQ(status.MPI_TAG, message.tag);
}

// Completes all requests with the wait or test function that `flavour` selects. Stores the statuses in the order of
// the requests.
void complete(int flavour, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
  const int count = static_cast<int>(requests.size());
  statuses.resize(requests.size());
  std::vector<MPI_Status> some(requests.size());
  std::vector<int> indices(requests.size());
  int left = count;
  int flag = 0;
  switch (flavour) {
    case 0:
      CHECK_OK(MPI_Waitall(count, requests.data(), statuses.data()));
      return;
    case 1:
      for (int i = count - 1; i >= 0; --i) CHECK_OK(MPI_Wait(&requests[i], &statuses[i]));
      return;
    case 2:
      for (; left > 0; --left) {
        int index = -1;
        MPI_Status status;
        CHECK_OK(MPI_Waitany(count, requests.data(), &index, &status));
        CHECK(index != MPI_UNDEFINED);
        statuses[index] = status;
      }
      return;
    case 3:
    case 4:
      while (left > 0) {
        int done = 0;
        CHECK_OK(flavour == 3 ? MPI_Waitsome(count, requests.data(), &done, indices.data(), some.data())
                              : MPI_Testsome(count, requests.data(), &done, indices.data(), some.data()));
        for (int i = 0; i < done; ++i) statuses[indices[i]] = some[i];
        left -= done;
      }
      return;
    case 5:
      while (flag == 0) CHECK_OK(MPI_Testall(count, requests.data(), &flag, statuses.data()));
      return;
    case 6:
      while (left > 0) {
        int index = -1;
        MPI_Status status;
        CHECK_OK(MPI_Testany(count, requests.data(), &index, &flag, &status));
        if (flag == 0) continue;
        statuses[index] = status;
        --left;
      }
      return;
    default:
      for (int i = 0; i < count; ++i) {
        for (flag = 0; flag == 0;) CHECK_OK(MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE));
        for (flag = 0; flag == 0;) CHECK_OK(MPI_Test(&requests[i], &flag, &statuses[i]));
      }
  }
}

void send_all(Thread& self, const std::vector<Message>& messages, int flavour, int completion) {
  std::vector<std::vector<int>> data;
  for (const Message& each : messages) data.push_back(data_of(each));
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& each = messages[i];
    const int* buf = data[i].data();
    MPI_Request request = MPI_REQUEST_NULL;
    switch (flavour) {
      case 0:
        CHECK_OK(MPI_Send(buf, each.count, MPI_INT, self.peer(), each.tag, each.comm));
        continue;
      case 1:
        CHECK_OK(MPI_Ssend(buf, each.count, MPI_INT, self.peer(), each.tag, each.comm));
        continue;
      case 2:
        CHECK_OK(MPI_Bsend(buf, each.count, MPI_INT, self.peer(), each.tag, each.comm));
        continue;
      case 3:
        CHECK_OK(MPI_Issend(buf, each.count, MPI_INT, self.peer(), each.tag, each.comm, &request));
        break;
      case 4:
        CHECK_OK(MPI_Send_init(buf, each.count, MPI_INT, self.peer(), each.tag, each.comm, &request));
        CHECK_OK(MPI_Start(&request));
        break;
      default:
        CHECK_OK(MPI_Isend(buf, each.count, MPI_INT, self.peer(), each.tag, each.comm, &request));
    }
    requests.push_back(request);
  }
  if (requests.empty()) return;
  std::vector<MPI_Status> statuses;
  complete(completion, requests, statuses);
  for (MPI_Request& each : requests) {
    if (flavour == 4) CHECK_OK(MPI_Request_free(&each));
  }
}

void receive_all(Thread& self, const std::vector<Message>& messages, int flavour, int completion, bool spread) {
  const int stride = spread ? 2 : 1;
  const MPI_Datatype type = spread ? self.spread : MPI_INT;
  std::vector<std::vector<int>> data;
  for (const Message& each : messages) data.emplace_back(static_cast<std::size_t>(each.count) * 2 + 2, -1);
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& each = messages[i];
    const int source = flavour % 2 == 0 ? self.peer() : MPI_ANY_SOURCE;
    const int tag = each.comm == self.own && flavour >= 2 ? MPI_ANY_TAG : each.tag;
    int* buf = data[i].data();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message matched = MPI_MESSAGE_NULL;
    int flag = 0;
    switch (flavour / 2) {
      case 0:
        CHECK_OK(MPI_Recv(buf, each.count, type, source, tag, each.comm, &statuses[i]));
        continue;
      case 1:
        CHECK_OK(MPI_Probe(source, tag, each.comm, &statuses[i]));
        check_status(each, self.peer(), statuses[i]);
        CHECK_OK(MPI_Recv(buf, each.count, type, source, tag, each.comm, &statuses[i]));
        continue;
      case 2:
        CHECK_OK(MPI_Mprobe(source, tag, each.comm, &matched, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Mrecv(buf, each.count, type, &matched, &statuses[i]));
        continue;
      case 3:
        while (flag == 0) CHECK_OK(MPI_Improbe(source, tag, each.comm, &flag, &matched, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Imrecv(buf, each.count, type, &matched, &request));
        break;
      case 4:
        while (flag == 0) CHECK_OK(MPI_Iprobe(source, tag, each.comm, &flag, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Irecv(buf, each.count, type, source, tag, each.comm, &request));
        break;
      case 5:
        CHECK_OK(MPI_Recv_init(buf, each.count, type, source, tag, each.comm, &request));
        CHECK_OK(MPI_Start(&request));
        break;
      default:
        CHECK_OK(MPI_Irecv(buf, each.count, type, source, tag, each.comm, &request));
    }
    requests.push_back(request);
  }
  if (!requests.empty()) {
    complete(completion, requests, statuses);
    for (MPI_Request& each : requests) {
      if (flavour / 2 == 5) CHECK_OK(MPI_Request_free(&each));
    }
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    check_status(messages[i], self.peer(), statuses[i]);
    check_data(messages[i], data[i], stride);
  }
}

void exchange(Thread& self, const Message& message) {
  const std::vector<int> out = data_of(message);
  std::vector<int> in(out.size(), -1);
  MPI_Status status;
  CHECK_OK(MPI_Sendrecv(out.data(), message.count, MPI_INT, self.peer(), message.tag, in.data(), message.count, MPI_INT,
                        MPI_ANY_SOURCE, message.tag, message.comm, &status));
  check_status(message, self.peer(), status);
  check_data(message, in, 1);
  MPI_Request request;
  CHECK_OK(MPI_Isendrecv_replace(in.data(), message.count, MPI_INT, self.peer(), message.tag, self.peer(), message.tag,
                                 message.comm, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  check_status(message, self.peer(), status);
  check_data(message, in, 1);
}

// A collective on the thread's own communicator; for a nonblocking one, a request of the thread's channel is completed
// in the same call.
void collective(Thread& self) {
  const int count = kSizes[self.draw(std::size(kSizes))];
  const Message message{self.own, 9, count, self.draw(1000)};
  std::vector<int> in(static_cast<std::size_t>(count) + 1, -1);
  std::vector<int> out = data_of(message);
  const int kind = self.draw(4);
  if (kind == 0) return static_cast<void>(CHECK_OK(MPI_Barrier(self.own)));
  if (kind == 1) {
    const int root = self.draw(2);
    std::vector<int> data = self.rank == root ? out : std::vector<int>(out.size(), -1);
    CHECK_OK(MPI_Bcast(data.data(), count, MPI_INT, root, self.own));
    return check_data(message, data, 1);
  }
  for (int& each : out) each = self.rank == 0 ? each - 5 : 5;  // the sum is the message
  if (kind == 2) {
    CHECK_OK(MPI_Allreduce(out.data(), in.data(), count, MPI_INT, MPI_SUM, self.own));
    return check_data(message, in, 1);
  }
  int token = -1;
  const int sent = 10 * message.first + self.rank;
  MPI_Request requests[3];
  CHECK_OK(MPI_Iallreduce(out.data(), in.data(), count, MPI_INT, MPI_SUM, self.own, &requests[0]));
  CHECK_OK(MPI_Irecv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 9, self.own, &requests[1]));
  CHECK_OK(MPI_Isend(&sent, 1, MPI_INT, self.peer(), 9, self.own, &requests[2]));
  CHECK_OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  check_data(message, in, 1);
  CHECK_EQ(token, 10 * message.first + self.peer());
}

void mixes(Thread& self, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int what = self.window != nullptr ? self.draw(6) : 6;
    if (what == 0) collective(self);
    if (what == 1) self.window->epoch(self.random, 1 + self.draw(6));
    if (what <= 1) continue;
    const int where = self.draw(5);
    std::vector<Message> messages;
    for (int count = 1 + self.draw(kMostMessages), i = 0; i < count; ++i) {
      const int which = where < 3 ? where : self.draw(3);  // in the last cases, requests of several channels
      const MPI_Comm comm = which == 0 ? self.own : which == 1 ? self.shared : MPI_COMM_WORLD;
      messages.push_back(
          {comm, self.number * kMostMessages + i, kSizes[self.draw(std::size(kSizes))], self.draw(1000)});
    }
    const bool sends = (self.draw(2) == 0) == (self.rank == 0);
    const int send_flavour = self.draw(6);
    int receive_flavour = self.draw(14);
    // Statuses are checked in the order of the messages, whichever message completes first.
    const int completion = self.draw(8);
    const bool spread = self.draw(4) == 0;
    const bool exchanges = self.draw(4) == 0;
    if (exchanges) {
      exchange(self, messages.front());
    } else if (sends) {
      send_all(self, messages, send_flavour, completion);
    } else {
      receive_all(self, messages, receive_flavour, completion, spread);
    }
  }
}

// --- Rare cases, each with the expected outcome ---

void cancels(Thread& self) {
  int value = 5;
  int cancelled = 0;
  MPI_Status status;
  MPI_Request request;
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, self.peer(), 1, self.own, &request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
  if (self.rank == 0) {
    CHECK_OK(MPI_Issend(&value, 1, MPI_INT, 1, 2, self.own, &request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
    CHECK_OK(MPI_Send(&value, 1, MPI_INT, 1, 3, self.own));
  } else {
    int found = 1;
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 3, self.own, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Iprobe(0, 2, self.own, &found, MPI_STATUS_IGNORE));
    CHECK_EQ(found, 0);
  }
}

void to_itself(Thread& self) {
  for (const int count : {0, 1, 100000}) {
    const Message message{self.own, 4, count, 11};
    const std::vector<int> out = data_of(message);
    std::vector<int> in(out.size() + 1, -1);
    MPI_Request request;
    MPI_Status status;
    CHECK_OK(MPI_Isend(out.data(), count, MPI_INT, self.rank, 4, self.own, &request));
    CHECK_OK(MPI_Recv(in.data(), count, MPI_INT, self.rank, MPI_ANY_TAG, self.own, &status));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_status(message, self.rank, status);
    check_data(message, in, 1);
    CHECK_OK(MPI_Irecv(in.data(), count, MPI_INT, self.rank, 4, self.own, &request));
    CHECK_OK(MPI_Ssend(out.data(), count, MPI_INT, self.rank, 4, self.own));
    CHECK_OK(MPI_Wait(&request, &status));
    check_data(message, in, 1);
  }
}

void truncation(Thread& self) {
  for (const int count : {10, 100000}) {
    const Message message{self.own, 5, count, 3};
    if (self.rank == 0) {
      CHECK_OK(MPI_Send(data_of(message).data(), count, MPI_INT, 1, 5, self.own));
      continue;
    }
    CHECK_OK(MPI_Comm_set_errhandler(self.own, MPI_ERRORS_RETURN));
    std::vector<int> in(static_cast<std::size_t>(count), -1);
    int error_class = MPI_SUCCESS;
    const int code = MPI_Recv(in.data(), count - 1, MPI_INT, 0, 5, self.own, MPI_STATUS_IGNORE);
    CHECK_OK(MPI_Error_class(code, &error_class));
    CHECK_EQ(error_class, MPI_ERR_TRUNCATE);
    CHECK_EQ(in[static_cast<std::size_t>(count) - 2], value_of(message, count - 2));
    CHECK_EQ(in[static_cast<std::size_t>(count) - 1], -1);
    CHECK_OK(MPI_Comm_set_errhandler(self.own, MPI_ERRORS_ARE_FATAL));
  }
}

// A send on one channel completes while its process waits on another.
void progress_elsewhere(Thread& self) {
  const Message message{self.own, 6, 300000, 8};
  int token = 1;
  if (self.rank == 0) {
    const std::vector<int> out = data_of(message);
    MPI_Request request;
    CHECK_OK(MPI_Isend(out.data(), message.count, MPI_INT, 1, 6, self.own, &request));
    CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 1, 1000 + self.number, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    std::vector<int> in(static_cast<std::size_t>(message.count));
    CHECK_OK(MPI_Recv(in.data(), message.count, MPI_INT, 0, 6, self.own, MPI_STATUS_IGNORE));
    check_data(message, in, 1);
    CHECK_OK(MPI_Send(&token, 1, MPI_INT, 0, 1000 + self.number, MPI_COMM_WORLD));
  }
}

// The communicator is freed before its messages have arrived.
void freed_early(int rank) {
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const Message message{comm, 7, 100000, 9};
  std::vector<int> data = data_of(message);
  MPI_Request request;
  if (rank == 0) {
    CHECK_OK(MPI_Isend(data.data(), message.count, MPI_INT, 1, 7, comm, &request));
  } else {
    data.assign(data.size(), -1);
    CHECK_OK(MPI_Irecv(data.data(), message.count, MPI_INT, 0, 7, comm, &request));
  }
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_data(message, data, 1);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  const int rank = check::world_rank();
  const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 100;
  unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
  if (seed == 0) seed = static_cast<unsigned>(std::time(nullptr));
  const bool messages_alone = argc > 4;
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  if (rank == 0) std::printf("seed %u\n", seed), std::fflush(stdout);
  std::vector<char> buffer(std::size_t{64} << 20);
  CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));

  MPI_Comm shared;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &shared));
  MPI_Datatype one, spread;
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &one));
  CHECK_OK(MPI_Type_dup(one, &spread));
  CHECK_OK(MPI_Type_commit(&spread));
  std::vector<MPI_Comm> own(static_cast<std::size_t>(threads));
  for (MPI_Comm& each : own) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));

  std::vector<std::unique_ptr<rma_test::WindowMix>> windows;
  for (int t = 0; t < threads && !messages_alone; ++t)
    windows.push_back(
        std::make_unique<rma_test::WindowMix>(t % 4 == 3 ? "create" : "allocate", own[static_cast<std::size_t>(t)]));

  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([=, &own, &windows] {
      const auto at = static_cast<std::size_t>(t);
      Thread self{t,      rank,   std::mt19937(seed + static_cast<unsigned>(t)), own[at],
                  shared, spread, messages_alone ? nullptr : windows[at].get()};
      cancels(self);
      to_itself(self);
      truncation(self);
      progress_elsewhere(self);
      mixes(self, rounds);
    });
  }
  for (std::thread& each : running) each.join();
  freed_early(rank);
  windows.clear();

  for (MPI_Comm& each : own) CHECK_OK(MPI_Comm_free(&each));
  CHECK_OK(MPI_Comm_free(&shared));
  CHECK_OK(MPI_Type_free(&one));
  CHECK_OK(MPI_Type_free(&spread));
  void* detached = nullptr;
  int size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &size));
  MPI_Finalize();
}

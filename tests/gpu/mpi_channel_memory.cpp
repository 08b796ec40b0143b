// Channels and device memory: threads of all ranks exchange messages on a communicator of each thread, on one that all
// share, and on MPI_COMM_WORLD, from and to memory of every kind, mixed with host memory of the same communicator and
// tag; then the rare cases one at a time. Every element is checked. Arguments: threads, rounds, seed (default, or 0:
// the time; printed); or: "host", threads, messages.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <random>
#include <thread>

#include "mpi_memory.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::kAllKinds;
using hr::test::MemoryKind;

constexpr int kMostMessages = 6;
constexpr int kSizes[] = {0, 1, 2, 30, 700, 5000, 20000, 40000};  // integers
constexpr int kLargest = 40000;
constexpr int kPoison = -77;
constexpr int kToken = 50000;  // tag

struct Message {
  MPI_Comm comm;
  int tag;
  int count;
  int first;  // value of the first integer
  bool any_tag, any_source;
  MemoryKind from, to;
  bool spread_from, spread_to;  // every second integer of the buffer
  int send;                     // kind of send
};

std::vector<int> data_of(const Message& message, bool spread) {
  const int stride = spread ? 2 : 1;
  std::vector<int> data(static_cast<std::size_t>(message.count * stride + 1), kPoison);
  for (int i = 0; i < message.count; ++i) data[static_cast<std::size_t>(i * stride)] = message.first + 7 * i;
  return data;
}

// Buffers of one thread: one of each kind for each message of a round, made when first used, and sometimes again. All
// memory of a rank without a driver is the host's.
class Buffers {
 public:
  DeviceMemory& get(std::size_t slot, MemoryKind kind, bool anew) {
    if (!gpu::available()) kind = MemoryKind::kHost;
    std::unique_ptr<DeviceMemory>& entry = all_[slot][static_cast<std::size_t>(kind)];
    if (entry == nullptr || anew) {
      entry = nullptr;
      entry = std::make_unique<DeviceMemory>(sizeof(int) * (2 * kLargest + 1), kind, gpu::device());
    }
    return *entry;
  }

 private:
  std::unique_ptr<DeviceMemory> all_[2 * kMostMessages][std::size(kAllKinds)];
};

struct Thread {
  int number, rank, size;
  std::mt19937 random;  // draws the same on all ranks
  MPI_Comm own, shared;
  MPI_Datatype spread;
  Buffers buffers{};

  int draw(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  MemoryKind draw_kind() {
    // Host memory is half of all, so that messages of both kinds follow each other.
    return draw(2) == 0 ? MemoryKind::kHost : kAllKinds[draw(static_cast<int>(std::size(kAllKinds)))];
  }
  [[nodiscard]] MPI_Datatype type(bool spreads) const { return spreads ? spread : MPI_INT; }
};

void write(DeviceMemory& memory, const std::vector<int>& data) { memory.write(std::as_bytes(std::span(data))); }

// Checks the buffer, whose first `capacity` integers the receive may have written.
void check_buffer(const DeviceMemory& memory, const Message& message, int capacity) {
  const int stride = message.spread_to ? 2 : 1;
  const std::vector<std::byte> bytes = memory.read();
  const auto at = [&bytes](int i) {
    int value = 0;
    std::memcpy(&value, bytes.data() + sizeof(int) * static_cast<std::size_t>(i), sizeof value);
    return value;
  };
  const int arrived = std::min(message.count, capacity);
  for (int i = 0; i < arrived; ++i) CHECK_EQ(at(i * stride), message.first + 7 * i);
  for (int i = 0; i + 1 < arrived && stride == 2; ++i) CHECK_EQ(at(2 * i + 1), kPoison);
  CHECK_EQ(at(arrived * stride), kPoison);
}

void check_status(const Message& message, int source, const MPI_Status& status) {
  int count = -1;
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, message.count);
  CHECK_EQ(status.MPI_SOURCE, source);
  CHECK_EQ(status.MPI_TAG, message.tag);
}

// Completes all requests in the way that `how` selects, 4: in another thread.
void complete(int how, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
  const int count = static_cast<int>(requests.size());
  statuses.resize(requests.size());
  std::vector<MPI_Status> some(requests.size());
  std::vector<int> indices(requests.size());
  int done = 0, flag = 0;
  switch (how) {
    case 0:
      for (int left = count; left > 0; --left) {
        MPI_Status status;
        CHECK_OK(MPI_Waitany(count, requests.data(), &done, &status));
        statuses[static_cast<std::size_t>(done)] = status;
      }
      return;
    case 1:
      for (int left = count; left > 0; left -= done) {
        CHECK_OK(MPI_Waitsome(count, requests.data(), &done, indices.data(), some.data()));
        for (int i = 0; i < done; ++i) statuses[static_cast<std::size_t>(indices[i])] = some[i];
      }
      return;
    case 2:
      while (flag == 0) CHECK_OK(MPI_Testall(count, requests.data(), &flag, statuses.data()));
      return;
    case 3:
      for (int i = count - 1; i >= 0; --i) {
        for (flag = 0; flag == 0;) CHECK_OK(MPI_Test(&requests[i], &flag, &statuses[i]));
      }
      return;
    case 4:
      std::thread([&] { CHECK_OK(MPI_Waitall(count, requests.data(), statuses.data())); }).join();
      return;
    default:
      CHECK_OK(MPI_Waitall(count, requests.data(), statuses.data()));
  }
}

MPI_Request start_send(Thread& self, const Message& message, int to, const void* buffer) {
  const MPI_Datatype type = self.type(message.spread_from);
  MPI_Request request = MPI_REQUEST_NULL;
  switch (message.send) {
    case 0:
      CHECK_OK(MPI_Issend(buffer, message.count, type, to, message.tag, message.comm, &request));
      break;
    case 1:
      CHECK_OK(MPI_Ibsend(buffer, message.count, type, to, message.tag, message.comm, &request));
      break;
    case 2:
      CHECK_OK(MPI_Send_init(buffer, message.count, type, to, message.tag, message.comm, &request));
      CHECK_OK(MPI_Start(&request));
      break;
    default:
      CHECK_OK(MPI_Isend(buffer, message.count, type, to, message.tag, message.comm, &request));
  }
  return request;
}

// Receives message i of a round, in the order of the messages; a pending receive is added to `requests`.
void receive(Thread& self, int how, const Message& message, int from, void* buffer, MPI_Status* status,
             std::vector<MPI_Request>& requests) {
  const int source = message.any_source ? MPI_ANY_SOURCE : from;
  const int tag = message.any_tag ? MPI_ANY_TAG : message.tag;
  const MPI_Datatype type = self.type(message.spread_to);
  MPI_Message matched = MPI_MESSAGE_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 0;
  switch (how) {
    case 0:
      return static_cast<void>(CHECK_OK(MPI_Recv(buffer, message.count, type, source, tag, message.comm, status)));
    case 1:
      CHECK_OK(MPI_Probe(source, tag, message.comm, status));
      check_status(message, from, *status);
      return static_cast<void>(CHECK_OK(MPI_Recv(buffer, message.count, type, source, tag, message.comm, status)));
    case 2:
      while (flag == 0) CHECK_OK(MPI_Improbe(source, tag, message.comm, &flag, &matched, status));
      check_status(message, from, *status);
      CHECK_OK(MPI_Imrecv(buffer, message.count, type, &matched, &request));
      break;
    case 3:
      CHECK_OK(MPI_Mprobe(source, tag, message.comm, &matched, MPI_STATUS_IGNORE));
      return static_cast<void>(CHECK_OK(MPI_Mrecv(buffer, message.count, type, &matched, status)));
    case 4:
      CHECK_OK(MPI_Recv_init(buffer, message.count, type, source, tag, message.comm, &request));
      CHECK_OK(MPI_Start(&request));
      break;
    default:
      CHECK_OK(MPI_Irecv(buffer, message.count, type, source, tag, message.comm, &request));
  }
  requests.push_back(request);
}

// All ranks send the same messages around a ring, and receive them in order.
void round_of(Thread& self, int round) {
  const int shift = self.draw(self.size);
  const int to = (self.rank + shift) % self.size;
  const int from = (self.rank + self.size - shift) % self.size;
  const int where = self.draw(3);
  const int how = self.draw(8);
  const int completion = self.draw(6);
  const bool receives_first = self.draw(2) == 0 && how > 3;
  std::vector<Message> messages(static_cast<std::size_t>(1 + self.draw(kMostMessages)));
  // Each round has tags of its own, because ranks that are ahead may already send the messages of the next ones.
  const int tag = round % 500 * 64;
  for (Message& each : messages) {
    const bool alone = where == 0;
    each.comm = alone ? self.own : where == 1 ? self.shared : MPI_COMM_WORLD;
    each.tag = tag + (alone ? self.draw(2) : 2 * self.number);
    each.count = kSizes[self.draw(std::size(kSizes))];
    each.first = self.draw(100000);
    each.any_tag = self.draw(2) == 0 && alone;
    each.any_source = self.draw(2) == 0 && !each.any_tag;
    each.from = self.draw_kind();
    each.to = self.draw_kind();
    each.spread_from = self.draw(5) == 0;
    each.spread_to = self.draw(5) == 0;
    each.send = self.draw(6);
  }
  std::vector<DeviceMemory*> in;
  std::vector<MPI_Request> sends, receives;
  std::vector<MPI_Status> statuses(messages.size()), completed;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    in.push_back(&self.buffers.get(kMostMessages + i, messages[i].to, self.draw(12) == 0));
    write(*in.back(), std::vector<int>(static_cast<std::size_t>(2 * messages[i].count + 1), kPoison));
  }
  const auto receive_all = [&] {
    for (std::size_t i = 0; i < messages.size(); ++i)
      receive(self, how, messages[i], from, in[i]->get(), &statuses[i], receives);
  };
  if (receives_first) receive_all();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    DeviceMemory& out = self.buffers.get(i, messages[i].from, self.draw(12) == 0);
    write(out, data_of(messages[i], messages[i].spread_from));
    sends.push_back(start_send(self, messages[i], to, out.get()));
  }
  if (!receives_first) receive_all();
  if (!receives.empty()) {
    complete(completion, receives, completed);
    statuses = completed;
  }
  complete(self.draw(6), sends, completed);
  for (std::vector<MPI_Request>* all : {&sends, &receives}) {
    for (MPI_Request& each : *all) {
      if (each != MPI_REQUEST_NULL) CHECK_OK(MPI_Request_free(&each));
    }
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    check_status(messages[i], from, statuses[i]);
    check_buffer(*in[i], messages[i], messages[i].count);
  }
}

// MPI_Sendrecv and its siblings around a ring.
void exchange(Thread& self) {
  const int shift = self.draw(self.size);
  const int to = (self.rank + shift) % self.size;
  const int from = (self.rank + self.size - shift) % self.size;
  Message message{self.own,
                  3,
                  kSizes[self.draw(std::size(kSizes))],
                  self.draw(1000),
                  false,
                  false,
                  self.draw_kind(),
                  self.draw_kind(),
                  self.draw(4) == 0,
                  self.draw(4) == 0,
                  0};
  DeviceMemory& out = self.buffers.get(0, message.from, false);
  DeviceMemory& in = self.buffers.get(kMostMessages, message.to, false);
  write(out, data_of(message, message.spread_from));
  write(in, std::vector<int>(static_cast<std::size_t>(2 * message.count + 1), kPoison));
  MPI_Status status;
  CHECK_OK(MPI_Sendrecv(out.get(), message.count, self.type(message.spread_from), to, 3, in.get(), message.count,
                        self.type(message.spread_to), from, 3, self.own, &status));
  check_status(message, from, status);
  check_buffer(in, message, message.count);
  MPI_Request request = MPI_REQUEST_NULL;
  if (self.draw(2) == 0) {
    CHECK_OK(
        MPI_Sendrecv_replace(in.get(), message.count, self.type(message.spread_to), to, 3, from, 3, self.own, &status));
  } else {
    CHECK_OK(MPI_Isendrecv_replace(in.get(), message.count, self.type(message.spread_to), to, 3, from, 3, self.own,
                                   &request));
    CHECK_OK(MPI_Wait(&request, &status));
  }
  check_status(message, from, status);
  check_buffer(in, message, message.count);
}

// A message that is longer than the buffer: its beginning arrives, and nothing behind it changes.
void truncated(Thread& self, MemoryKind from, MemoryKind to) {
  for (const int count : {8, 40000}) {
    const Message message{self.own, 5, count, 3, false, false, from, to, false, false, 9};
    const int capacity = count == 8 ? 5 : 35000;
    if (self.rank == 0) {
      DeviceMemory& out = self.buffers.get(0, from, false);
      write(out, data_of(message, false));
      CHECK_OK(MPI_Send(out.get(), count, MPI_INT, 1, 5, self.own));
    } else if (self.rank == 1) {
      DeviceMemory& in = self.buffers.get(1, to, false);
      write(in, std::vector<int>(static_cast<std::size_t>(count + 1), kPoison));
      CHECK_OK(MPI_Comm_set_errhandler(self.own, MPI_ERRORS_RETURN));
      CHECK_CLASS(MPI_Recv(in.get(), capacity, MPI_INT, 0, 5, self.own, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
      CHECK_OK(MPI_Comm_set_errhandler(self.own, MPI_ERRORS_ARE_FATAL));
      check_buffer(in, message, capacity);
    }
  }
}

// A cancelled send is never received, and leaves its buffer to the program.
void cancelled(Thread& self, MemoryKind from) {
  int token = 0, flag = 0;
  if (self.rank == 0) {
    MPI_Request request;
    MPI_Status status;
    CHECK_OK(MPI_Issend(self.buffers.get(0, from, false).get(), 20000, MPI_INT, 1, 6, self.own, &request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Test_cancelled(&status, &flag));
    CHECK_EQ(flag, 1);
    CHECK_OK(MPI_Send(&token, 1, MPI_INT, 1, 7, self.own));
  } else if (self.rank == 1) {
    CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 0, 7, self.own, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Iprobe(0, 6, self.own, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 0);
  }
}

// The data of a send on one communicator arrives while its process waits on another.
void progress_elsewhere(Thread& self, MemoryKind kind) {
  const Message message{self.own, 8, 40000, 4, false, false, kind, kind, false, false, 9};
  int token = 0;
  if (self.rank == 0) {
    DeviceMemory& out = self.buffers.get(0, kind, false);
    write(out, data_of(message, false));
    MPI_Request request;
    CHECK_OK(MPI_Isend(out.get(), message.count, MPI_INT, 1, 8, self.own, &request));
    CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 1, kToken + self.number, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else if (self.rank == 1) {
    DeviceMemory& in = self.buffers.get(1, kind, false);
    write(in, std::vector<int>(static_cast<std::size_t>(message.count + 1), kPoison));
    CHECK_OK(MPI_Recv(in.get(), message.count, MPI_INT, 0, 8, self.own, MPI_STATUS_IGNORE));
    check_buffer(in, message, message.count);
    CHECK_OK(MPI_Send(&token, 1, MPI_INT, 0, kToken + self.number, MPI_COMM_WORLD));
  }
}

// The program gives up the request and the communicator, and may free neither buffer before a token has come back.
void freed_early(const check::Environment& mpi, MemoryKind kind) {
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const Message message{comm, 9, 40000, 6, false, false, kind, kind, false, false, 9};
  Buffers buffers;
  DeviceMemory& buffer = buffers.get(0, kind, true);
  MPI_Request request = MPI_REQUEST_NULL;
  int token = 0;
  if (mpi.rank == 0) {
    write(buffer, data_of(message, false));
    CHECK_OK(MPI_Isend(buffer.get(), message.count, MPI_INT, 1, 9, comm, &request));
    CHECK_OK(MPI_Request_free(&request));
  } else if (mpi.rank == 1) {
    write(buffer, std::vector<int>(static_cast<std::size_t>(message.count + 1), kPoison));
    CHECK_OK(MPI_Irecv(buffer.get(), message.count, MPI_INT, 0, 9, comm, &request));
  }
  CHECK_OK(MPI_Comm_free(&comm));
  if (mpi.rank == 0) {
    CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else if (mpi.rank == 1) {
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_buffer(buffer, message, message.count);
    CHECK_OK(MPI_Send(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
  }
}

void run(Thread& self, int device, int rounds) {
  if (gpu::available()) gpu::bind_thread(device);
  for (const MemoryKind kind : kAllKinds) {
    truncated(self, kind, MemoryKind::kHost);
    truncated(self, MemoryKind::kHost, kind);
    truncated(self, kind, kind);
    cancelled(self, kind);
    progress_elsewhere(self, kind);
  }
  for (int round = 0; round < rounds; ++round) self.draw(5) == 0 ? exchange(self) : round_of(self, round);
}

// A reduction function that stays in its call, which holds the library's lock, until the messages have been exchanged.
std::atomic<bool> inside = false, exchanged = false;
extern "C" void hold(void* /*in*/, void* /*inout*/, int* /*count*/, MPI_Datatype* /*type*/) {
  constexpr std::chrono::seconds kLimit(30);
  const auto begin = std::chrono::steady_clock::now();
  inside = true;
  while (!exchanged && std::chrono::steady_clock::now() - begin < kLimit) std::this_thread::yield();
}

// Exchanges messages while another thread of each rank holds the library's lock.
void beside_the_lock(const check::Environment& mpi, MPI_Comm comm, int messages) {
  MPI_Op op;
  CHECK_OK(MPI_Op_create(hold, 0, &op));
  std::thread holder([op] {
    int in = 0, out = 0;
    CHECK_OK(MPI_Reduce_local(&in, &out, 1, MPI_INT, op));
  });
  while (!inside) std::this_thread::yield();
  const int next = (mpi.rank + 1) % mpi.size, previous = (mpi.rank + mpi.size - 1) % mpi.size;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < messages; ++i) {
    int in = -1;
    CHECK_OK(MPI_Sendrecv(&i, 1, MPI_INT, next, 2, &in, 1, MPI_INT, previous, 2, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(in, i);
  }
  const bool waited = std::chrono::steady_clock::now() - begin > std::chrono::seconds(25);
  exchanged = true;
  holder.join();
  CHECK_OK(MPI_Op_free(&op));
  CHECK(!waited);
}

// Threads exchange messages between buffers in host memory, of their heap and their stack, and do not use the driver.
// test_channel_calls.py counts the driver's calls.
int host_alone(const check::Environment& mpi, int threads, int messages) {
  if (gpu::available()) gpu::select(mpi.rank);
  std::vector<MPI_Comm> own(static_cast<std::size_t>(threads));
  for (MPI_Comm& each : own) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
  std::vector<std::thread> running;
  for (const MPI_Comm comm : own) {
    running.emplace_back([&mpi, comm, messages] {
      const int next = (mpi.rank + 1) % mpi.size, previous = (mpi.rank + mpi.size - 1) % mpi.size;
      const auto out = std::make_unique<int[]>(2);
      for (int i = 0; i < messages; ++i) {
        out[0] = i;
        out[1] = mpi.rank;
        int in[2] = {kPoison, kPoison};
        CHECK_OK(MPI_Sendrecv(out.get(), 2, MPI_INT, next, 1, in, 2, MPI_INT, previous, 1, comm, MPI_STATUS_IGNORE));
        CHECK_EQ(in[0], i);
        CHECK_EQ(in[1], previous);
      }
    });
  }
  for (std::thread& each : running) each.join();
  beside_the_lock(mpi, own.front(), messages);
  for (MPI_Comm& each : own) CHECK_OK(MPI_Comm_free(&each));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2, MPI_THREAD_MULTIPLE);
  if (argc > 3 && std::string(argv[1]) == "host") return host_alone(mpi, std::atoi(argv[2]), std::atoi(argv[3]));
  // Ranks without a driver may take part.
  const int here = gpu::available() ? 1 : 0;
  int anywhere = 0;
  CHECK_OK(MPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  if (anywhere == 0) return static_cast<int>(hr::test::select_device());
  if (here != 0) gpu::select(mpi.rank);
  const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 30;
  unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
  if (seed == 0) seed = static_cast<unsigned>(std::time(nullptr));
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  if (mpi.rank == 0) std::printf("seed %u\n", seed), std::fflush(stdout);
  std::vector<char> attached(std::size_t{64} << 20);
  CHECK_OK(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  MPI_Comm shared;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &shared));
  MPI_Datatype spread;
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread));
  CHECK_OK(MPI_Type_commit(&spread));
  const int device = here != 0 ? gpu::device() : 0;
  std::vector<MPI_Comm> own(static_cast<std::size_t>(threads));
  std::vector<std::unique_ptr<Thread>> selves;
  for (int t = 0; t < threads; ++t) {
    MPI_Comm& comm = own[static_cast<std::size_t>(t)];
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    selves.push_back(std::make_unique<Thread>(
        Thread{t, mpi.rank, mpi.size, std::mt19937(seed + static_cast<unsigned>(t)), comm, shared, spread}));
  }
  std::vector<std::thread> running;
  for (const auto& self : selves) running.emplace_back([&self, device, rounds] { run(*self, device, rounds); });
  for (std::thread& each : running) each.join();
  for (const MemoryKind kind : kAllKinds) freed_early(mpi, kind);
  selves.clear();
  for (MPI_Comm& each : own) CHECK_OK(MPI_Comm_free(&each));
  CHECK_OK(MPI_Comm_free(&shared));
  CHECK_OK(MPI_Type_free(&spread));
  void* detached = nullptr;
  int size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &size));
  return 0;
}

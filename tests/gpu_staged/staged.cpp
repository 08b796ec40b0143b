// Staged messages in special cases: many messages, a process that does not cooperate, a copy that fails.
//
//   staged random_exchange [--seed N | --seed random]   messages between all pairs, of random kinds, sizes, layouts
//   staged stalled            a receiver that makes no progress does not hold up the others
//   staged failing-sender     a copy of the sender fails: both sides get an error, other messages continue
//   staged failing-receiver   a copy of the receiver fails: it gets an error, other messages continue
//   staged own                messages to oneself between devices do not wait for the device
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>

#include "driver_function.hpp"
#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::MemoryKind;

// --- random exchange ---

// A message; both ends draw it from the same numbers.
struct Plan {
  int from, to, tag;
  MemoryKind send_kind, receive_kind;
  int blocks, block_ints, send_stride, receive_stride;  // strides equal to the block: contiguous
  bool short_receive;                                   // the message is truncated
};

class RandomExchange {
 public:
  RandomExchange(const check::Environment& mpi, std::uint64_t seed) : mpi_(mpi), numbers_(seed) {
    for (int from = 0; from < mpi.size; ++from) {
      for (int to = 0; to < mpi.size; ++to) {
        for (int k = 0; k < kEach; ++k) plans_.push_back(draw(from, to, k));
      }
    }
  }

  void run() {
    for (const Plan& plan : plans_) {
      if (plan.to == mpi_.rank) start(plan, false);
    }
    for (const Plan& plan : plans_) {
      if (plan.from == mpi_.rank) start(plan, true);
    }
    std::vector<MPI_Request> requests;
    for (const auto& end : ends_) requests.push_back(end->request);
    for (std::size_t done = 0; done < requests.size(); ++done) {
      int index = MPI_UNDEFINED;
      MPI_Status status;
      const int code = MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &status);
      End& end = *ends_[static_cast<std::size_t>(index)];
      if (!end.sends && end.plan.short_receive) {
        CHECK_CLASS(code, MPI_ERR_TRUNCATE);
      } else {
        CHECK_OK(code);
      }
      if (!end.sends) check_arrived(end);
    }
  }

 private:
  static constexpr int kEach = 6;

  struct End {
    Plan plan;
    bool sends;
    std::unique_ptr<Buffer> buffer;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ~End() {
      if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    }
  };

  int number(int lowest, int highest) {
    return lowest + static_cast<int>(numbers_() % static_cast<std::uint64_t>(highest - lowest + 1));
  }
  Plan draw(int from, int to, int k) {
    constexpr int kKinds = static_cast<int>(std::size(hr::test::kAllKinds));
    Plan plan{};
    plan.from = from;
    plan.to = to;
    plan.tag = k;
    plan.send_kind = hr::test::kAllKinds[number(0, kKinds - 1)];
    plan.receive_kind = hr::test::kAllKinds[number(0, kKinds - 1)];
    plan.block_ints = number(1, 9);
    plan.blocks = number(1, 1 << number(2, 16));
    plan.send_stride = plan.block_ints + (number(0, 1) != 0 ? number(1, 3) : 0);
    plan.receive_stride = plan.block_ints + (number(0, 1) != 0 ? number(1, 3) : 0);
    plan.short_receive = plan.blocks > 1 && number(0, 9) == 0;
    return plan;
  }

  static int received_blocks(const Plan& plan) { return plan.short_receive ? plan.blocks / 2 : plan.blocks; }
  static std::size_t bytes(const Plan& plan, int stride) {
    return (static_cast<std::size_t>(plan.blocks) * static_cast<std::size_t>(stride) + 1) * sizeof(int);
  }
  static unsigned salt(const Plan& plan) { return static_cast<unsigned>(plan.from * 1000 + plan.to * 10 + plan.tag); }

  void start(const Plan& plan, bool sends) {
    ends_.push_back(std::make_unique<End>());
    End& end = *ends_.back();
    end.plan = plan;
    end.sends = sends;
    const int stride = sends ? plan.send_stride : plan.receive_stride;
    end.buffer = std::make_unique<Buffer>(bytes(plan, stride), sends ? plan.send_kind : plan.receive_kind);
    end.buffer->put(content(bytes(plan, stride), sends ? salt(plan) : 1));
    const int blocks = sends ? plan.blocks : received_blocks(plan);
    CHECK_OK(MPI_Type_vector(blocks, plan.block_ints, stride, MPI_INT, &end.type));
    CHECK_OK(MPI_Type_commit(&end.type));
    if (!sends) {
      CHECK_OK(MPI_Irecv(end.buffer->get(), 1, end.type, plan.from, plan.tag, MPI_COMM_WORLD, &end.request));
    } else if (plan.tag % 2 == 0) {
      CHECK_OK(MPI_Isend(end.buffer->get(), 1, end.type, plan.to, plan.tag, MPI_COMM_WORLD, &end.request));
    } else {
      CHECK_OK(MPI_Issend(end.buffer->get(), 1, end.type, plan.to, plan.tag, MPI_COMM_WORLD, &end.request));
    }
  }

  static void check_arrived(const End& end) {
    const Plan& plan = end.plan;
    const auto sent = content(bytes(plan, plan.send_stride), salt(plan));
    auto wanted = content(bytes(plan, plan.receive_stride), 1);
    const auto block = static_cast<std::size_t>(plan.block_ints) * sizeof(int);
    for (int i = 0; i < received_blocks(plan); ++i) {
      const auto at = static_cast<std::size_t>(i) * sizeof(int);
      std::memcpy(wanted.data() + at * static_cast<std::size_t>(plan.receive_stride),
                  sent.data() + at * static_cast<std::size_t>(plan.send_stride), block);
    }
    const auto found = end.buffer->read();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (found[i] == wanted[i]) continue;
      check::fail(__FILE__, __LINE__,
                  "message " + std::to_string(plan.tag) + " from rank " + std::to_string(plan.from) + ", " +
                      name_of(plan.send_kind) + " to " + name_of(plan.receive_kind) + ", " +
                      std::to_string(plan.blocks) + " blocks of " + std::to_string(block) + " bytes, strides " +
                      std::to_string(plan.send_stride) + " and " + std::to_string(plan.receive_stride) + ": byte " +
                      std::to_string(i) + " is wrong");
    }
  }

  const check::Environment& mpi_;
  std::mt19937_64 numbers_;
  std::vector<Plan> plans_;
  std::vector<std::unique_ptr<End>> ends_;
};

void random_exchange(const check::Environment& mpi, const std::string& seed_text) {
  unsigned long long seed =
      seed_text == "random" ? static_cast<unsigned long long>(std::time(nullptr)) : std::stoull(seed_text);
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD));
  if (mpi.rank == 0) std::printf("seed %llu\n", seed);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (unsigned round = 0; round < 4; ++round) RandomExchange(mpi, seed * 1000 + round).run();
}

// --- stalled ---

// A word that ranks share without MPI.
class Flag {
 public:
  explicit Flag(int rank) {
    int owner = static_cast<int>(::getpid());
    CHECK_OK(MPI_Bcast(&owner, 1, MPI_INT, 0, MPI_COMM_WORLD));
    const std::string name = "/headrace.test." + std::to_string(owner);
    if (rank == 0) open(name, O_CREAT | O_RDWR);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank != 0) open(name, O_RDWR);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) ::shm_unlink(name.c_str());
  }
  ~Flag() { ::munmap(word_, sizeof *word_); }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  void raise() { word_->store(1); }
  void wait() const {
    while (word_->load() == 0) ::sched_yield();
  }

 private:
  void open(const std::string& name, int flags) {
    const int file = ::shm_open(name.c_str(), flags, 0600);
    CHECK(file >= 0 && ::ftruncate(file, sizeof *word_) == 0);
    void* memory = ::mmap(nullptr, sizeof *word_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED);
    ::close(file);
    word_ = static_cast<std::atomic<int>*>(memory);
  }
  std::atomic<int>* word_ = nullptr;
};

// Rank 1 posts a receive, requests the data, and stops calling MPI until rank 2 has also received from rank 0.
void stalled(const check::Environment& mpi) {
  constexpr int kBytes = 16 << 20;
  Flag flag(mpi.rank);
  Buffer first(kBytes, MemoryKind::kPool);
  Buffer second(kBytes, MemoryKind::kPool);
  const auto data = content(kBytes, 1);
  int nothing = 0;
  MPI_Request request;
  if (mpi.rank == 0) {
    first.put(data);
    second.put(data);
    CHECK_OK(MPI_Isend(first.get(), kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Send(&nothing, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
    CHECK_OK(MPI_Send(second.get(), kBytes, MPI_BYTE, 2, 1, MPI_COMM_WORLD));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else if (mpi.rank == 1) {
    CHECK_OK(MPI_Irecv(first.get(), kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request));
    // This message follows the ready-to-send message.
    CHECK_OK(MPI_Recv(&nothing, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    flag.wait();
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(first.read() == data);
  } else if (mpi.rank == 2) {
    CHECK_OK(MPI_Recv(first.get(), kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(first.read() == data);
    flag.raise();
  }
}

// --- failing ---

constexpr int kFailingRank = 0;

// Fails copies from the second one on, in one rank; called before the driver is opened.
void order_fault() {
  const char* rank = std::getenv("PMI_RANK");
  if (rank != nullptr && std::atoi(rank) == kFailingRank) ::setenv("FAKE_CUDA_FAIL", "cuMemcpyAsync:2:1", 1);
}

void exchange_host(int peer) {
  int mine = 1;
  int theirs = 0;
  CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, peer, 7, &theirs, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(theirs, 1);
}

// True if these words precede the failed call, cuMemcpyAsync or hipMemcpyAsync.
bool names_copy(const std::string& text, const std::string& words) {
  return text.find(words + "cuMemcpyAsync") != std::string::npos ||
         text.find(words + "hipMemcpyAsync") != std::string::npos;
}

void failing(const check::Environment& mpi, bool sender_fails) {
  constexpr int kBytes = 16 << 20;  // several pieces
  const bool sends = (mpi.rank == kFailingRank) == sender_fails;
  const int peer = 1 - mpi.rank;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  // The pool's memory cannot be mapped, so it is staged even with IPC.
  Buffer buffer(kBytes, MemoryKind::kPool);
  for (int round = 0; round < 3; ++round) {
    MPI_Request request;
    if (sends) {
      CHECK_OK(MPI_Issend(buffer.get(), kBytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request));
    } else {
      CHECK_OK(MPI_Irecv(buffer.get(), kBytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request));
    }
    exchange_host(peer);
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (mpi.rank == kFailingRank) {
      CHECK_CLASS(code, MPI_ERR_OTHER);
      CHECK(names_copy(check::error_text(code), ""));
    } else if (sender_fails) {
      CHECK_CLASS(code, MPI_ERR_OTHER);
      CHECK(names_copy(check::error_text(code), "rank 0 could not read its data: "));
    } else {
      CHECK_OK(code);  // succeeds, as all data has left the sender
    }
  }
  exchange_host(peer);
}

// --- own ---

// Holds up the legacy default stream until it is opened.
class Gate {
 public:
  Gate() {
    static auto* launch = hr::test::driver_function<int(gpu::Stream, void (*)(void*), void*)>("cuLaunchHostFunc");
    gpu::check(
        launch(gpu::kDefaultStream, [](void* gate) { static_cast<Gate*>(gate)->wait(); }, this), "cuLaunchHostFunc");
  }
  ~Gate() {
    open();
    gpu::synchronize();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() { open_.store(true); }

 private:
  void wait() const {
    while (!open_.load()) ::sched_yield();
  }
  std::atomic<bool> open_{false};
};

// Returns a buffer whose elements of this type are those of content(bytes, 1), and the other bytes those of
// content(bytes, 2).
std::vector<std::byte> own_result(std::size_t bytes, bool strided) {
  auto wanted = content(bytes, 1);
  const auto before = content(bytes, 2);
  for (std::size_t i = 0; strided && i < bytes; ++i) {
    if (i / sizeof(int) % 2 == 1) wanted[i] = before[i];
  }
  return wanted;
}

void own(const check::Environment& mpi) {
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(1000, 1, 2, MPI_INT, &strided));
  CHECK_OK(MPI_Type_commit(&strided));
  constexpr std::size_t kBytes = 8000;
  const auto exchange = [&](Buffer& source, Buffer& target, MPI_Datatype type, bool gated) {
    target.put(content(kBytes, 2));
    const int count = type == MPI_INT ? 2000 : 1;
    MPI_Request requests[2];
    const std::unique_ptr<Gate> gate = gated ? std::make_unique<Gate>() : nullptr;
    CHECK_OK(MPI_Irecv(target.get(), count, type, mpi.rank, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Isend(source.get(), count, type, mpi.rank, 1, MPI_COMM_WORLD, &requests[1]));
    if (gated) {
      int done = 0;
      for (int i = 0; i < 100; ++i) CHECK_OK(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
      CHECK(done == 0);
      gate->open();
    }
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(target.read() == own_result(kBytes, type == strided));
  };
  for (const MemoryKind from : hr::test::kDeviceKinds) {
    for (const MemoryKind to : hr::test::kDeviceKinds) {
      Buffer source(kBytes, from);
      Buffer target(kBytes, to);
      source.put(content(kBytes, 1));
      for (const MPI_Datatype type : {MPI_INT, strided}) {
        exchange(source, target, type, false);  // loading the kernels may wait for the device
        exchange(source, target, type, true);
      }
    }
  }
  CHECK_OK(MPI_Type_free(&strided));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  const bool fails = which == "failing-sender" || which == "failing-receiver";
  if (fails) order_fault();
  check::Environment mpi(&argc, &argv, 1);
  if (!hr::test::select_device()) return 0;
  if (which == "random_exchange") {
    random_exchange(mpi, argc > 3 ? argv[3] : "random");
  } else if (which == "stalled" && mpi.size >= 3) {
    stalled(mpi);
  } else if (fails && mpi.size == 2) {
    failing(mpi, which == "failing-sender");
  } else if (which == "own") {
    own(mpi);
  } else {
    check::fail(__FILE__, __LINE__, "usage: staged random_exchange|stalled|failing-sender|failing-receiver|own");
  }
  return 0;
}

// Messages for which a receiver waits in its call: pairs of ranks send back and forth, of random sizes, from and to
// random offsets, sooner or later after the receive has begun, in blocking and non-blocking form. Checks every byte,
// and that kernels on the receiving GPUs have moved some of them (HEADRACE_DEVICE_RESIDENT_COPIES), or none if none
// may.
//
//   mpi_resident_copy [all] [--messages N] [--seed N] [--expect some|none|any] [--kind device|pool|managed]
//
// Pool memory and managed memory go through chunks of device memory, which these kernels fill and empty.
//
// If ranks share devices, the others decide whether a kernel runs in time: then any number is expected.
#include <chrono>
#include <cstdlib>

#include "../mpi/random/plan.hpp"
#include "memory_in_use.hpp"
#include "mpi_memory.hpp"
#include "variable.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using random_exchange::chance;
using random_exchange::draw;
using random_exchange::Generator;

constexpr std::size_t kLargest = (std::size_t{1} << 20) + 4096;
constexpr std::size_t kRoom = 256;
constexpr unsigned char kPoison = 0x5A;

struct Message {
  std::size_t bytes, from, to;
  double late;  // seconds until it is sent
  bool nonblocking;
  unsigned char value;
};

Message draw_message(std::uint64_t seed, int number, int sender) {
  Generator random =
      random_exchange::generator(seed, static_cast<std::uint64_t>(number), static_cast<unsigned>(sender));
  const int longest[] = {8, 4096, 40000, 300000, static_cast<int>(kLargest)};
  Message message{};
  message.bytes = static_cast<std::size_t>(draw(random, 1, longest[draw(random, 0, 4)]));
  message.from = static_cast<std::size_t>(draw(random, 0, static_cast<int>(kRoom)));
  message.to = static_cast<std::size_t>(draw(random, 0, static_cast<int>(kRoom)));
  // The fake driver takes much longer to start a kernel.
  message.late = draw(random, 0, hr::test::on_fake_driver() ? 400 : 60) * 1e-6;
  message.nonblocking = chance(random, 50);
  message.value = static_cast<unsigned char>(draw(random, 0, 255));
  return message;
}

unsigned char content(const Message& message, std::size_t at) {
  return static_cast<unsigned char>(message.value + at * 3 + at / 256);
}

class Pair {
 public:
  Pair(std::uint64_t seed, int rank, MemoryKind kind)
      : seed_(seed),
        rank_(rank),
        other_(rank ^ 1),
        host_(kLargest + 2 * kRoom),
        buffer_(kLargest + 2 * kRoom, kind, gpu::device()) {}

  void send(int number) {
    const Message message = draw_message(seed_, number, rank_);
    for (std::size_t i = 0; i < message.bytes; ++i) host_[i] = content(message, i);
    gpu::copy(buffer_.bytes() + message.from, host_.data(), message.bytes);
    // Both are ready, and the receiver enters its call.
    CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, other_, 1, MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, other_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (const double at = MPI_Wtime() + message.late; MPI_Wtime() < at;) {
    }
    CHECK_OK(MPI_Send(buffer_.bytes() + message.from, static_cast<int>(message.bytes), MPI_BYTE, other_, number % 1000,
                      MPI_COMM_WORLD));
  }

  void receive(int number) {
    const Message message = draw_message(seed_, number, other_);
    gpu::fill(buffer_.get(), kPoison, buffer_.size());
    gpu::synchronize();
    std::byte* target = buffer_.bytes() + message.to;
    const int bytes = static_cast<int>(message.bytes);
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, other_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, other_, 1, MPI_COMM_WORLD));
    if (message.nonblocking) {
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_OK(MPI_Irecv(target, bytes, MPI_BYTE, other_, number % 1000, MPI_COMM_WORLD, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      CHECK_OK(MPI_Recv(target, bytes, MPI_BYTE, other_, number % 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    gpu::copy(host_.data(), buffer_.get(), host_.size());
    for (std::size_t i = 0; i < host_.size(); ++i) {
      const bool inside = i >= message.to && i < message.to + message.bytes;
      const unsigned char wanted = inside ? content(message, i - message.to) : kPoison;
      if (host_[i] == wanted) continue;
      check::fail(__FILE__, __LINE__,
                  "message " + std::to_string(number) + " of " + std::to_string(bytes) + " bytes: byte " +
                      std::to_string(i) + " of the buffer is " + std::to_string(host_[i]) + ", not " +
                      std::to_string(wanted));
    }
  }

 private:
  std::uint64_t seed_;
  int rank_, other_;
  std::vector<unsigned char> host_;
  DeviceMemory buffer_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  int messages = 300;
  std::uint64_t seed = 1;
  MemoryKind kind = MemoryKind::kDevice;
  std::string expected = mpi.size <= gpu::device_count() ? "some" : "any";
  for (int option = argc > 1 && std::string(argv[1]) == "all" ? 2 : 1; option + 1 < argc; option += 2) {
    const std::string name = argv[option], value = argv[option + 1];
    if (name == "--messages") {
      messages = std::atoi(value.c_str());
    } else if (name == "--seed") {
      seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--expect") {
      expected = value;
    } else if (name == "--kind" && (value == "device" || value == "pool" || value == "managed")) {
      kind = value == "device" ? MemoryKind::kDevice : value == "pool" ? MemoryKind::kPool : MemoryKind::kManaged;
    } else {
      check::fail(__FILE__, __LINE__, "unknown option " + name);
    }
  }
  CHECK(mpi.size % 2 == 0);
  unsigned long long resident_copy = 0;
  {
    Pair pair(seed, mpi.rank, kind);
    hr::test::Variable variable("HEADRACE_DEVICE_RESIDENT_COPIES");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    // The machine decides whether a kernel runs in time: continue until one has, on every rank.
    for (int number = 0, open = 1; number < messages || open != 0; ++number) {
      (number + mpi.rank) % 2 == 0 ? pair.send(number) : pair.receive(number);
      if (number < messages || number % 50 != 0) continue;
      resident_copy = variable.value();
      open = expected == "some" && resident_copy == 0 ? 1 : 0;
      CHECK(std::chrono::steady_clock::now() < end);
      CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &open, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    }
    resident_copy = variable.value();
  }
  if (expected == "none" && resident_copy != 0) {
    check::fail(__FILE__, __LINE__, std::to_string(resident_copy) + " messages were moved by a waiting kernel");
  }
  if (mpi.rank == 0) {
    std::printf("resident_copy: seed %llu, %llu of the messages received here were moved by a waiting kernel\n",
                static_cast<unsigned long long>(seed), resident_copy);
  }
  return 0;
}

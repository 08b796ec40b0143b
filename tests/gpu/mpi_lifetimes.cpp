// Tensors that live for one exchange: allocated, sent from their middle, reduced, freed, for many cycles, so that
// addresses are reused with other sizes, kinds and contents. Each message must be its sender's message of this cycle,
// and in the end as many bytes must be in use on the devices as after the first round.
//
//   mpi_lifetimes [all] [--cycles N] [--bytes LARGEST] [--seed N] [--kinds NAME,NAME...]
//
// The long form for hardware: mpi_lifetimes --cycles 10000 --bytes 67108864 --kinds device,pool,vmm,vmm-private
#include <algorithm>
#include <chrono>
#include <sstream>

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

struct Settings {
  std::vector<MemoryKind> kinds = {MemoryKind::kDevice, MemoryKind::kDevice,     MemoryKind::kPool,   MemoryKind::kVmm,
                                   MemoryKind::kVmm,    MemoryKind::kVmmPrivate, MemoryKind::kManaged};
  int cycles = 300;
  std::size_t largest = std::size_t{1} << 20;
  std::uint64_t seed = 1;
};

// A rank's buffer in a cycle; sender and receiver draw the same one.
struct Tensor {
  MemoryKind send_kind, receive_kind;
  std::size_t send_offset, receive_offset, bytes;
  unsigned char value;
};

Tensor draw_tensor(const Settings& settings, int cycle, int sender) {
  Generator random = random_exchange::generator(settings.seed, static_cast<std::uint64_t>(cycle),
                                                70 + static_cast<std::uint64_t>(sender));
  const auto kind = [&] {
    return settings.kinds[static_cast<std::size_t>(draw(random, 0, static_cast<int>(settings.kinds.size()) - 1))];
  };
  Tensor tensor{};
  tensor.send_kind = kind();
  tensor.receive_kind = kind();
  // Few sizes, so that addresses are reused.
  const std::size_t sizes[] = {settings.largest, settings.largest, settings.largest / 2, settings.largest / 2 + 8192,
                               4096};
  tensor.bytes = sizes[draw(random, 0, 4)];
  tensor.send_offset = chance(random, 50) ? 0 : static_cast<std::size_t>(draw(random, 1, 1000)) * 8;
  tensor.receive_offset = chance(random, 50) ? 0 : static_cast<std::size_t>(draw(random, 1, 1000)) * 8;
  tensor.value = static_cast<unsigned char>(draw(random, 0, 255));
  return tensor;
}

// Checks large tensors only in some places: reading 64 MB back takes longer than moving them.
void expect_everywhere(const DeviceMemory& memory, std::size_t offset, std::size_t bytes, unsigned char value,
                       int cycle) {
  constexpr std::size_t kPiece = 4096, kPlaces = 16;
  const std::size_t step = bytes <= std::size_t{2} << 20 ? kPiece : bytes / kPlaces;
  std::vector<unsigned char> found(kPiece);
  for (std::size_t at = 0; at < bytes; at += step) {
    const std::size_t length = std::min(kPiece, bytes - at);
    gpu::copy(found.data(), memory.bytes() + offset + at, length);
    for (std::size_t i = 0; i < length; ++i) {
      if (found[i] == value) continue;
      check::fail(__FILE__, __LINE__,
                  "cycle " + std::to_string(cycle) + ": byte " + std::to_string(at + i) + " of " +
                      std::to_string(bytes) + " in " + name_of(memory.kind()) + " memory is " +
                      std::to_string(found[i]) + ", not " + std::to_string(value));
    }
  }
}

class Cycles {
 public:
  Cycles(const Settings& settings, const check::Environment& mpi) : settings_(settings), mpi_(mpi) {}

  void run(int first, int last) {
    for (int cycle = first; cycle < last; ++cycle) {
      exchange(cycle);
      if (cycle % 4 == 3) reduce(cycle);
      if (cycle % 8 == 5) withdraw(cycle);
    }
  }

 private:
  void exchange(int cycle) {
    const int next = (mpi_.rank + 1) % mpi_.size, previous = (mpi_.rank + mpi_.size - 1) % mpi_.size;
    const Tensor out = draw_tensor(settings_, cycle, mpi_.rank), in = draw_tensor(settings_, cycle, previous);
    DeviceMemory send(out.send_offset + out.bytes, out.send_kind, gpu::device());
    DeviceMemory receive(in.receive_offset + in.bytes, in.receive_kind, gpu::device());
    gpu::fill(send.get(), static_cast<unsigned char>(~out.value), out.send_offset);
    gpu::fill(send.bytes() + out.send_offset, out.value, out.bytes);
    gpu::fill(receive.get(), static_cast<unsigned char>(~in.value), receive.size());
    CHECK_OK(MPI_Sendrecv(send.bytes() + out.send_offset, static_cast<int>(out.bytes), MPI_BYTE, next, cycle % 1000,
                          receive.bytes() + in.receive_offset, static_cast<int>(in.bytes), MPI_BYTE, previous,
                          cycle % 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    expect_everywhere(receive, in.receive_offset, in.bytes, in.value, cycle);
  }

  void reduce(int cycle) {
    const Tensor tensor = draw_tensor(settings_, cycle, 1000);
    DeviceMemory send(tensor.bytes, tensor.send_kind, gpu::device());
    DeviceMemory receive(tensor.bytes, tensor.receive_kind, gpu::device());
    gpu::fill(send.get(), static_cast<unsigned char>(1u << (mpi_.rank % 8)), tensor.bytes);
    CHECK_OK(
        MPI_Allreduce(send.get(), receive.get(), static_cast<int>(tensor.bytes), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    unsigned expected = 0;
    for (int rank = 0; rank < mpi_.size; ++rank) expected |= 1u << (rank % 8);
    expect_everywhere(receive, 0, tensor.bytes, static_cast<unsigned char>(expected), cycle);
  }

  // Cancels a message without a receive, and frees its memory.
  void withdraw(int cycle) {
    constexpr int kTag = 1001;  // a tag that no receive uses
    const int next = (mpi_.rank + 1) % mpi_.size;
    const DeviceMemory send(settings_.largest, draw_tensor(settings_, cycle, 2000 + mpi_.rank).send_kind,
                            gpu::device());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int cancelled = 0;
    CHECK_OK(MPI_Isend(send.get(), static_cast<int>(send.size()), MPI_BYTE, next, kTag, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Cancel(&request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
  }

  const Settings& settings_;
  const check::Environment& mpi_;
};

// Waits until no more memory is returned: other processes release memory that its owner has freed only in a later call.
std::uint64_t at_rest() {
  constexpr int kRounds = 200;
  std::uint64_t lowest = ~std::uint64_t{0};
  for (int done = 0, rounds = 0; done == 0;) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const std::uint64_t found = hr::test::memory_in_use();
    rounds = found < lowest ? 0 : rounds + 1;
    lowest = std::min(lowest, found);
    done = rounds >= kRounds ? 1 : 0;
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  }
  return lowest;
}

// Returns how much more memory may be in use on a device at the end than before. On hardware, other programs may also
// use the devices, and the driver keeps pages of managed memory after all of it has been freed, even without MPI
// (docs/history/gpu-validation.md).
std::uint64_t room_for(const Settings& settings) {
  if (hr::test::on_fake_driver()) return 0;
  const bool managed =
      std::find(settings.kinds.begin(), settings.kinds.end(), MemoryKind::kManaged) != settings.kinds.end();
  return std::uint64_t{managed ? 256U : 4U} << 20;
}

// Waits for other processes to release memory that its owner has freed. Each does so in a later call, in which it
// learns that the memory was freed.
std::uint64_t settled(std::uint64_t wanted, std::uint64_t room) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (true) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const std::uint64_t found = hr::test::memory_in_use();
    int done = found <= wanted + room || std::chrono::steady_clock::now() > end ? 1 : 0;
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (done == 0) continue;
    if (found > wanted + room) {
      hr::test::Variable mapped("HEADRACE_DEVICE_IPC_MAPPED_BYTES", MPI_T_PVAR_CLASS_LEVEL);
      check::fail(__FILE__, __LINE__,
                  std::to_string(found) + " bytes are in use, " + std::to_string(wanted) +
                      " were before; this rank has " + std::to_string(mapped.value()) + " bytes of others mapped");
    }
    return found;
  }
}

std::vector<MemoryKind> parse_kinds(const std::string& names) {
  std::vector<MemoryKind> kinds;
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, ',');) {
    const auto* found = std::find_if(std::begin(hr::test::kAllKinds), std::end(hr::test::kAllKinds),
                                     [&](MemoryKind kind) { return name == name_of(kind); });
    if (found == std::end(hr::test::kAllKinds)) check::fail(__FILE__, __LINE__, "no kind of memory " + name);
    kinds.push_back(*found);
  }
  return kinds;
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  Settings settings;
  int option = 1;
  if (argc > 1 && std::string(argv[1]) == "all") {
    settings.largest = std::size_t{64} << 20;
    ++option;
  }
  for (; option + 1 < argc; option += 2) {
    const std::string name = argv[option];
    const std::uint64_t value = std::strtoull(argv[option + 1], nullptr, 10);
    if (name == "--cycles") {
      settings.cycles = static_cast<int>(value);
    } else if (name == "--bytes") {
      settings.largest = value;
    } else if (name == "--seed") {
      settings.seed = value;
    } else if (name == "--kinds") {
      settings.kinds = parse_kinds(argv[option + 1]);
    } else {
      check::fail(__FILE__, __LINE__, "unknown option " + name);
    }
  }
  Cycles cycles(settings, mpi);
  // The library keeps some memory for itself; after these cycles, every path that allocates memory has been used.
  const int first = std::min(settings.cycles, 100);
  cycles.run(0, first);
  const std::uint64_t before = at_rest();
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  cycles.run(first, first + settings.cycles);
  const std::uint64_t after = settled(before, room_for(settings));
  if (mpi.rank == 0) {
    std::printf("lifetimes: seed %llu, %d cycles of up to %zu bytes, %d ranks: %llu bytes in use before, %llu after\n",
                static_cast<unsigned long long>(settings.seed), settings.cycles, settings.largest, mpi.size,
                static_cast<unsigned long long>(before), static_cast<unsigned long long>(after));
  }
  return 0;
}

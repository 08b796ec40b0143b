// Chunked device memory (VMM): ranges of one chunk, of many and of too many, and views that begin and end
// anywhere in them; chunks that are replaced by others at the same address, ranges that grow, processes that may not
// map chunks. If GPUs can fetch directly, they must do so; at the end, no mapping may be left.
//
//   mpi_chunks [all | PART...] [--cycles N]      parts: ranges mixed remap grow many cycles collectives; alone: refused
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>

#include "driver_function.hpp"
#include "memory_in_use.hpp"
#include "mpi_memory.hpp"
#include "segment.hpp"
#include "variable.hpp"

namespace {

using hr::test::content;
using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using hr::test::Segment;
using hr::test::Variable;

constexpr std::size_t kGuard = 512;
constexpr unsigned kPoison = 0xa5;

struct Ring {
  int rank, size;
  [[nodiscard]] int next() const { return (rank + 1) % size; }
  [[nodiscard]] int previous() const { return (rank + size - 1) % size; }
};

// Counts how often this process's GPU has accessed other processes' chunks in place.
class Direct {
 public:
  [[nodiscard]] unsigned long long take() { return uses_.take(); }

 private:
  Variable uses_{"HEADRACE_DEVICE_IPC_CHUNKS"};
};

void expect_bytes(const std::vector<std::byte>& found, std::size_t at, const std::vector<std::byte>& wanted,
                  const std::string& what) {
  const auto differs = std::mismatch(wanted.begin(), wanted.end(), found.begin() + static_cast<std::ptrdiff_t>(at));
  if (differs.first != wanted.end()) {
    check::fail(__FILE__, __LINE__,
                what + ": byte " + std::to_string(differs.first - wanted.begin()) + " of " +
                    std::to_string(wanted.size()) + " is wrong");
  }
  const auto guard = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (found[i] == std::byte{kPoison}) continue;
      check::fail(__FILE__, __LINE__,
                  what + ": the byte at " + std::to_string(i) + " outside of the message has changed");
    }
  };
  guard(0, at);
  guard(at + wanted.size(), found.size());
}

// Every rank sends `bytes` bytes at `data`, with new contents, to the next.
void exchange(const Ring& ring, unsigned char* data, std::size_t bytes, MemoryKind receive_kind, unsigned salt,
              const std::string& what) {
  const auto own = content(bytes, salt * 64 + static_cast<unsigned>(ring.rank));
  gpu::copy(data, own.data(), bytes);
  DeviceMemory receive(bytes + 2 * kGuard, receive_kind, gpu::device());
  receive.fill(kPoison);
  CHECK_OK(MPI_Sendrecv(data, static_cast<int>(bytes), MPI_BYTE, ring.next(), 1, receive.bytes() + kGuard,
                        static_cast<int>(bytes), MPI_BYTE, ring.previous(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  expect_bytes(receive.read(), kGuard, content(bytes, salt * 64 + static_cast<unsigned>(ring.previous())), what);
}

// Every rank sends every other element of 16 bytes, across the chunks.
void exchange_strided(const Ring& ring, unsigned char* data, std::size_t bytes, unsigned salt,
                      const std::string& what) {
  const auto blocks = static_cast<int>(bytes / 32);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(blocks, 16, 32, MPI_BYTE, &type));
  CHECK_OK(MPI_Type_commit(&type));
  const auto own = content(bytes, salt * 64 + static_cast<unsigned>(ring.rank));
  const auto theirs = content(bytes, salt * 64 + static_cast<unsigned>(ring.previous()));
  gpu::copy(data, own.data(), bytes);
  std::vector<std::byte> wanted;
  for (std::size_t i = 0; i < static_cast<std::size_t>(blocks); ++i) {
    wanted.insert(wanted.end(), theirs.begin() + static_cast<std::ptrdiff_t>(32 * i),
                  theirs.begin() + static_cast<std::ptrdiff_t>(32 * i + 16));
  }
  DeviceMemory receive(wanted.size() + 2 * kGuard, MemoryKind::kVmm, gpu::device());
  receive.fill(kPoison);
  CHECK_OK(MPI_Sendrecv(data, 1, type, ring.next(), 1, receive.bytes() + kGuard, static_cast<int>(wanted.size()),
                        MPI_BYTE, ring.previous(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  expect_bytes(receive.read(), kGuard, wanted, what);
  CHECK_OK(MPI_Type_free(&type));
}

void ranges(const Ring& ring, bool direct) {
  Direct mapped;
  unsigned salt = 0;
  for (const std::size_t chunks : {1, 2, 5, 64, 65}) {
    for (const bool exportable : {true, false}) {
      const Segment segment = Segment::full(chunks, exportable);
      const std::size_t bytes = segment.bytes(), chunk = segment.chunk_bytes();
      struct Part {
        std::size_t begin, end;
      };
      const Part parts[] = {
          {0, bytes}, {1000, bytes - 24}, {bytes / 2 - 8, bytes}, {chunk - 64, std::min(bytes, chunk + 64)}};
      for (const Part& part : parts) {
        const std::string what = std::to_string(chunks) + " chunks, bytes " + std::to_string(part.begin) + " to " +
                                 std::to_string(part.end) + (exportable ? "" : ", private");
        const std::size_t used = (part.end - 1) / chunk - part.begin / chunk + 1;
        (void)mapped.take();
        for (const MemoryKind kind : {MemoryKind::kVmm, MemoryKind::kDevice}) {
          exchange(ring, segment.data() + part.begin, part.end - part.begin, kind, ++salt, what);
        }
        exchange_strided(ring, segment.data() + part.begin, part.end - part.begin, ++salt, what + ", strided");
        const bool expected = direct && exportable && used <= 64;
        if (const auto uses = mapped.take(); expected ? uses < 3 : uses != 0 && (!exportable || used > 64)) {
          check::fail(__FILE__, __LINE__, what + ": " + std::to_string(uses) + " times straight from memory to memory");
        }
      }
    }
  }
}

// Some chunks of one buffer may be exported to other processes, others may not.
void mixed(const Ring& ring) {
  constexpr std::size_t kChunks = 4;
  const int own = gpu::device();
  unsigned salt = 0;
  for (const unsigned private_ones : {0U, 2U, 9U, 14U}) {
    Segment segment(kChunks);
    for (std::size_t i = 0; i < kChunks; ++i) segment.map(i, (private_ones >> i & 1) == 0, own);
    const std::string what = "chunks of which " + std::to_string(private_ones) + " are private";
    for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kVmm, MemoryKind::kHost})
      exchange(ring, segment.data() + 40, segment.bytes() - 80, kind, ++salt, what);
    exchange_strided(ring, segment.data(), segment.bytes(), ++salt, what + ", strided");
    DeviceMemory send(segment.bytes(), MemoryKind::kDevice, own);
    send.write(content(segment.bytes(), ++salt * 64 + static_cast<unsigned>(ring.rank)));
    const auto count = static_cast<int>(segment.bytes());
    CHECK_OK(MPI_Sendrecv(send.get(), count, MPI_BYTE, ring.next(), 2, segment.data(), count, MPI_BYTE, ring.previous(),
                          2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    std::vector<std::byte> found(segment.bytes());
    gpu::copy(found.data(), segment.data(), found.size());
    expect_bytes(found, 0, content(found.size(), salt * 64 + static_cast<unsigned>(ring.previous())),
                 what + ", received into");
  }
}

// Chunks are replaced between messages, at the same address.
void remap(const Ring& ring, bool direct) {
  constexpr std::size_t kChunks = 4;
  constexpr unsigned kCycles = 60;
  Variable revoked("HEADRACE_DEVICE_IPC_REVOCATIONS");
  Segment segment = Segment::full(kChunks);
  const std::size_t chunk = segment.chunk_bytes();
  for (unsigned cycle = 0; cycle < kCycles; ++cycle) {
    exchange(ring, segment.data() + 64, segment.bytes() - 128, MemoryKind::kVmm, cycle, "remapped");
    exchange(ring, segment.data() + cycle % kChunks * chunk, chunk, MemoryKind::kDevice, cycle + 100, "one chunk");
    gpu::synchronize();
    segment.unmap(cycle % kChunks);
    if (cycle % 3 == 0) segment.unmap((cycle + 1) % kChunks);
    segment.map(cycle % kChunks);
    if (cycle % 3 == 0) segment.map((cycle + 1) % kChunks);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  unsigned long long given_up = revoked.take();
  for (int done = 0; done == 0;) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    given_up += revoked.take();
    done = !direct || given_up >= 2 * kCycles || std::chrono::steady_clock::now() > end ? 1 : 0;
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  }
  if (direct && given_up < 2 * kCycles) check::fail(__FILE__, __LINE__, "mappings of memory that is gone were kept");
}

// A range that grows, is used from its start and in its middle, and is emptied.
void grow(const Ring& ring) {
  constexpr std::size_t kChunks = 20;
  Segment segment(kChunks);
  const std::size_t chunk = segment.chunk_bytes();
  for (unsigned round = 0; round < 2; ++round) {
    for (std::size_t n = 0; n < kChunks; ++n) {
      segment.map(n);
      exchange(ring, segment.data(), (n + 1) * chunk, MemoryKind::kDevice, static_cast<unsigned>(n) + 40 * round,
               "grown");
      exchange(ring, segment.data() + n / 2 * chunk + 8, chunk - 8, MemoryKind::kVmm, static_cast<unsigned>(n) + 20,
               "middle");
    }
    gpu::synchronize();
    for (std::size_t n = 0; n < kChunks; ++n) segment.unmap(n);
  }
}

// Uses more ranges than there are descriptors and tables for.
void many(const Ring& ring) {
  std::deque<Segment> segments;
  for (unsigned i = 0; i < 24; ++i) {
    segments.push_back(Segment::full(32));
    exchange(ring, segments.back().data() + 4, segments.back().bytes() - 4, MemoryKind::kDevice, i, "many ranges");
  }
  for (unsigned i = 0; i < 24; ++i) {
    exchange(ring, segments[i].data(), segments[i].chunk_bytes() * 2, MemoryKind::kVmm, i + 50, "many ranges again");
  }
}

// Returns the files of the descriptors in use.
std::vector<std::string> open_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // the descriptor of the directory itself
    const auto file = std::filesystem::read_symlink(entry.path(), closed);
    if (!closed) files.push_back(file.string());
  }
  return files;
}

std::string joined(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) all += " " + file;
  return all;
}

// Waits until other processes release memory that its owner has freed. Each does so in a later call, in which it learns
// that the memory was freed.
void settle(std::uint64_t memory, const std::vector<std::string>& before) {
  // A real driver has its own memory and open files, whose number varies.
  const std::uint64_t room = hr::test::on_fake_driver() ? 0 : std::uint64_t{4} << 20;
  const std::size_t files = hr::test::on_fake_driver() ? 0 : 4;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int done = 0; done == 0;) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const std::uint64_t used = hr::test::memory_in_use();
    const std::vector<std::string> open = open_files();
    const bool settled = used <= memory + room && open.size() <= before.size() + files;
    if (!settled && std::chrono::steady_clock::now() > end) {
      check::fail(__FILE__, __LINE__,
                  std::to_string(used) + " bytes are in use, " + std::to_string(memory) +
                      " were before; files:" + joined(open) + "; before:" + joined(before));
    }
    done = settled ? 1 : 0;
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  }
}

void one_cycle(const Ring& ring, unsigned cycle) {
  const Segment segment = Segment::full(1 + cycle % 5);
  exchange(ring, segment.data() + cycle % 7 * 8, 4096 + segment.bytes() / 2, MemoryKind::kVmm, cycle, "cycles");
}

void cycles(const Ring& ring, unsigned count) {
  for (unsigned cycle = 0; cycle < 20; ++cycle) one_cycle(ring, cycle);
  for (int i = 0; i < 8; ++i)
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));  // the ranks share memory from now on, which is a file
  const std::uint64_t memory = hr::test::memory_in_use();
  const std::vector<std::string> files = open_files();
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  for (unsigned cycle = 0; cycle < count; ++cycle) one_cycle(ring, cycle);
  settle(memory, files);
}

// Buffers of several chunks, in place and not; blocks that cross chunk boundaries.
void collectives(const Ring& ring, bool direct) {
  const auto ranks = static_cast<std::size_t>(ring.size);
  for (const std::size_t chunks : {1, 3, 40}) {
    Variable by_device("HEADRACE_COLL_DEVICE");
    const Segment send = Segment::full(chunks), receive = Segment::full(chunks);
    const std::size_t block = (send.bytes() - 64) / ranks / 4 * 4, all = block * ranks;
    const auto count = static_cast<int>(block);
    const std::string what = std::to_string(chunks) + " chunks";
    const auto poison = [&] { gpu::fill(receive.data(), kPoison, receive.bytes()); };
    const auto received = [&](std::size_t bytes) {
      std::vector<std::byte> found(bytes);
      gpu::copy(found.data(), receive.data() + 32, bytes);
      return found;
    };
    for (unsigned repeat = 0; repeat < 6; ++repeat) {
      const auto make = [&](int rank) { return content(all, repeat * 64 + static_cast<unsigned>(rank)); };
      std::vector<std::vector<std::byte>> vectors;
      for (int rank = 0; rank < ring.size; ++rank) vectors.push_back(make(rank));
      const auto of = [&](int rank) -> const auto& { return vectors[static_cast<std::size_t>(rank)]; };
      gpu::copy(send.data() + 32, of(ring.rank).data(), all);
      poison();
      CHECK_OK(MPI_Alltoall(send.data() + 32, count, MPI_BYTE, receive.data() + 32, count, MPI_BYTE, MPI_COMM_WORLD));
      std::vector<std::byte> wanted;
      for (int rank = 0; rank < ring.size; ++rank) {
        const auto& theirs = of(rank);
        const auto first = theirs.begin() + static_cast<std::ptrdiff_t>(block * static_cast<std::size_t>(ring.rank));
        wanted.insert(wanted.end(), first, first + static_cast<std::ptrdiff_t>(block));
      }
      expect_bytes(received(all), 0, wanted, what + ", alltoall");
      poison();
      CHECK_OK(MPI_Allgather(send.data() + 32, count, MPI_BYTE, receive.data() + 32, count, MPI_BYTE, MPI_COMM_WORLD));
      wanted.clear();
      for (int rank = 0; rank < ring.size; ++rank) {
        const auto& theirs = of(rank);
        wanted.insert(wanted.end(), theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(block));
      }
      expect_bytes(received(all), 0, wanted, what + ", allgather");
      poison();
      CHECK_OK(MPI_Allreduce(send.data() + 32, receive.data() + 32, static_cast<int>(all), MPI_BYTE, MPI_BXOR,
                             MPI_COMM_WORLD));
      wanted.assign(all, std::byte{0});
      for (int rank = 0; rank < ring.size; ++rank) {
        const auto& theirs = of(rank);
        for (std::size_t i = 0; i < all; ++i) wanted[i] ^= theirs[i];
      }
      expect_bytes(received(all), 0, wanted, what + ", allreduce");
      const auto sent = make(99);
      if (ring.rank == 0) gpu::copy(receive.data() + 32, sent.data(), all);
      CHECK_OK(MPI_Bcast(receive.data() + 32, static_cast<int>(all), MPI_BYTE, 0, MPI_COMM_WORLD));
      expect_bytes(received(all), 0, sent, what + ", bcast");
    }
    if (direct && by_device.take() < 8) check::fail(__FILE__, __LINE__, what + ": collectives have gone by messages");
  }
}

// Makes this system call fail with EPERM in this process from now on.
void forbid(unsigned call) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof rules / sizeof *rules, rules};
  CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// Rank 1 may not receive descriptors: messages to it are staged, messages from it are not.
void refused(const Ring& ring) {
  constexpr unsigned kPidfdGetfd = 438;
  if (ring.rank == 1) forbid(kPidfdGetfd);
  const Segment segment = Segment::full(3);
  // The library discovers the refusal with the first messages; it stages later ones immediately.
  for (unsigned i = 0; i < 4; ++i) {
    exchange(ring, segment.data() + 8, segment.bytes() - 8, MemoryKind::kVmm, i, "refused at first");
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  Direct mapped;
  exchange(ring, segment.data() + 8, segment.bytes() - 8, MemoryKind::kVmm, 9, "refused");
  if (const bool used = mapped.take() != 0; used != (ring.rank != 1))
    check::fail(__FILE__, __LINE__, used ? "fetched what cannot be" : "staged for no reason");
  exchange(ring, segment.data(), 2048, MemoryKind::kDevice, 10, "small");
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  const Ring ring{mpi.rank, mpi.size};
  std::vector<std::string> parts;
  unsigned count = 200;
  bool direct = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--cycles" && i + 1 < argc) {
      count = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    } else if (word == "--staged") {
      direct = false;  // the devices cannot reach each other
    } else {
      parts.push_back(word);
    }
  }
  if (parts.empty() || parts[0] == "all") parts = {"ranges", "mixed", "remap", "grow", "many", "cycles", "collectives"};
  for (const std::string& part : parts) {
    if (part == "ranges") {
      ranges(ring, direct);
    } else if (part == "mixed") {
      mixed(ring);
    } else if (part == "remap") {
      remap(ring, direct);
    } else if (part == "grow") {
      grow(ring);
    } else if (part == "many") {
      many(ring);
    } else if (part == "cycles") {
      cycles(ring, count);
    } else if (part == "collectives") {
      collectives(ring, direct);
    } else if (part == "refused") {
      refused(ring);
    } else {
      check::fail(__FILE__, __LINE__, "unknown part " + part);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mpi.rank == 0) std::printf("%s: right\n", part.c_str());
  }
  return 0;
}

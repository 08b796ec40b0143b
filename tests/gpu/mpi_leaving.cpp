// Processes that leave MPI while others still have messages for them.
//
//   mpi_leaving [leave] [slices]
//
// leave: rank 1 has fetched from more allocations of rank 0 than a ring can hold messages, and has left MPI when rank 0
// frees them: no process reads rank 0's messages about that, and rank 0 must end nevertheless. slices: many
// allocations, several pending messages of each at once, some freed and created again, all freed shortly before the
// end.
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "../mpi/random/plan.hpp"
#include "mpi_memory.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using random_exchange::chance;
using random_exchange::draw;

using Memories = std::vector<std::unique_ptr<DeviceMemory>>;

std::unique_ptr<DeviceMemory> make(std::size_t bytes) {
  return std::make_unique<DeviceMemory>(bytes, MemoryKind::kDevice, gpu::device());
}

void expect(const DeviceMemory& memory, std::size_t at, const std::vector<std::byte>& wanted, const char* what) {
  std::vector<std::byte> found(wanted.size());
  gpu::copy(found.data(), memory.bytes() + at, found.size());
  if (found != wanted) check::fail(__FILE__, __LINE__, std::string(what) + ": other bytes than were sent");
}

// Several rounds, each with all allocations.
void slices(int rank, int size) {
  constexpr int kAllocations = 60;
  constexpr std::size_t kSlices[] = {400, 516, 2000, 4096, 4100, 30000};
  constexpr int kSlicesEach = static_cast<int>(std::size(kSlices));
  std::size_t total = 0;
  std::size_t at[kSlicesEach];
  for (int slice = 0; slice < kSlicesEach; ++slice) {
    at[slice] = total;
    total += kSlices[slice] + 12;
  }
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const auto bytes_of = [&](int from, int round, int allocation, int slice) {
    return hr::test::content(kSlices[slice],
                             static_cast<unsigned>(((from * 10 + round) * 100 + allocation) * 8 + slice));
  };
  Memories out, in;
  for (int i = 0; i < kAllocations; ++i) {
    out.push_back(make(total));
    in.push_back(make(total));
  }
  auto random = random_exchange::generator(1, static_cast<std::uint64_t>(rank), 71);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kAllocations; ++i) {
      gpu::fill(in[static_cast<std::size_t>(i)]->get(), 0, total);
      for (int slice = 0; slice < kSlicesEach; ++slice)
        out[static_cast<std::size_t>(i)]->write(bytes_of(rank, round, i, slice), at[slice]);
    }
    std::vector<MPI_Request> requests;
    const auto each = [&](const auto& start) {
      for (int i = 0; i < kAllocations; ++i) {
        for (int slice = 0; slice < kSlicesEach; ++slice) {
          requests.emplace_back();
          CHECK_OK(start(static_cast<std::size_t>(i), slice, i * kSlicesEach + slice, &requests.back()));
        }
      }
    };
    each([&](std::size_t i, int slice, int tag, MPI_Request* request) {
      return MPI_Irecv(in[i]->bytes() + at[slice], static_cast<int>(kSlices[slice]), MPI_BYTE, previous, tag,
                       MPI_COMM_WORLD, request);
    });
    each([&](std::size_t i, int slice, int tag, MPI_Request* request) {
      return MPI_Isend(out[i]->bytes() + at[slice], static_cast<int>(kSlices[slice]), MPI_BYTE, next, tag,
                       MPI_COMM_WORLD, request);
    });
    CHECK_OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < kAllocations; ++i) {
      for (int slice = 0; slice < kSlicesEach; ++slice)
        expect(*in[static_cast<std::size_t>(i)], at[slice], bytes_of(previous, round, i, slice), "a slice");
    }
    for (auto& memory : out) {
      if (!chance(random, 30)) continue;
      memory.reset();
      memory = make(total);
    }
  }
}

// The file exists until rank 1 has left.
void leave(int rank) {
  constexpr int kAllocations = 600;
  constexpr std::size_t kBytes = 8192;
  const auto word = [&](int i) { return hr::test::content(kBytes, static_cast<unsigned>(i)); };
  char path[] = "/tmp/headrace-leaving-XXXXXX";
  if (rank == 0) {
    const int file = ::mkstemp(path);
    if (file < 0) check::fail(__FILE__, __LINE__, "no file in /tmp");
    ::close(file);
  }
  CHECK_OK(MPI_Bcast(path, static_cast<int>(sizeof path), MPI_CHAR, 0, MPI_COMM_WORLD));
  auto other = make(kBytes);
  if (rank == 0) {
    Memories all;
    for (int i = 0; i < kAllocations; ++i) {
      all.push_back(make(kBytes));
      all.back()->write(word(i));
      CHECK_OK(MPI_Ssend(all.back()->get(), static_cast<int>(kBytes), MPI_BYTE, 1, i, MPI_COMM_WORLD));
    }
    while (::access(path, F_OK) == 0) {
      int flag = 0;
      CHECK_OK(MPI_Iprobe(2, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    all.clear();
    // An allocation that is exported for the first time makes the library look for those that were freed.
    for (int i = 0; i < 2; ++i) {
      const auto fresh = make(kBytes);
      fresh->write(word(i));
      CHECK_OK(MPI_Ssend(fresh->get(), static_cast<int>(kBytes), MPI_BYTE, 2, i, MPI_COMM_WORLD));
    }
  } else if (rank == 1) {
    for (int i = 0; i < kAllocations; ++i) {
      CHECK_OK(MPI_Recv(other->get(), static_cast<int>(kBytes), MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      expect(*other, 0, word(i), "a message to rank 1");
    }
  } else if (rank == 2) {
    for (int i = 0; i < 2; ++i) {
      CHECK_OK(MPI_Recv(other->get(), static_cast<int>(kBytes), MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      expect(*other, 0, word(i), "a message to rank 2");
    }
  }
  other.reset();
  CHECK_OK(MPI_Finalize());
  if (rank == 1 && ::unlink(path) != 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  const int rank = check::world_rank(), size = check::world_size();
  if (!hr::test::select_device()) return MPI_Finalize();
  bool leaves = argc < 2;
  bool slice = argc < 2;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    leaves = leaves || word == "leave" || (word == "all" && size >= 3);
    slice = slice || word == "slices" || word == "all";
  }
  if (slice) slices(rank, size);
  if (leaves && size < 3) check::fail(__FILE__, __LINE__, "three ranks are the least");
  if (rank == 0) std::printf("ok\n");
  std::fflush(stdout);
  leaves ? leave(rank) : static_cast<void>(MPI_Finalize());
  return 0;
}

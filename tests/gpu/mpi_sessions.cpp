// Successive sessions, without the world model, with buffers in every kind of memory: each works, and in each the
// process holds no more resources than in the earlier ones: device memory, heap memory, open files.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "memory_in_use.hpp"
#include "mpi_memory.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;

constexpr int kSessions = 24;
constexpr int kWarm =
    4;  // number of sessions after which everything permanent has been created, except for a file or two
constexpr std::ptrdiff_t kFilesRoom = 2;

// Lengths: short, in pieces, and longer than all staging memory.
constexpr std::size_t kSizes[] = {8, 20000, std::size_t{9} << 20};
constexpr std::size_t kShort = 20000;

struct Held {
  std::uint64_t device = 0;
  std::size_t heap = 0;
  std::ptrdiff_t files = 0;
};

Held held() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return {hr::test::memory_in_use(), ::mallinfo2().uordblks, std::distance(begin(open), end(open))};
}

constexpr Held kAnything = {~std::uint64_t{0}, ~std::size_t{0} / 2, PTRDIFF_MAX};

std::string text_of(const Held& held) {
  return std::to_string(held.device) + " bytes of the device, " + std::to_string(held.heap) + " of the heap, " +
         std::to_string(held.files) + " files";
}

// With several processes, the amount depends on the order in which they wait, and the networks' transports keep as many
// buffers of 64 KiB as were in use at once: two more than before may be. With one process, 64 bytes per session would
// exceed this.
constexpr std::size_t kBufferRoom = std::size_t{65} << 10;
std::size_t heap_room(int processes) { return processes == 1 ? 256 : (std::size_t{32} << 10) + 2 * kBufferRoom; }

bool within(const Held& now, const Held& most, int processes) {
  return now.device <= most.device && now.heap <= most.heap + heap_room(processes) && now.files <= most.files;
}

// Other programs may use hardware, too.
std::uint64_t device_room() { return hr::test::on_fake_driver() ? 0 : std::uint64_t{4} << 20; }

// Every process sends its neighbour values that depend on the sender, the session and the length.
void exchange(MPI_Comm comm, int session, MemoryKind kind, std::size_t bytes) {
  int rank = 0, size = 0;
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  CHECK_OK(MPI_Comm_size(comm, &size));
  const auto value = [&](int of) {
    return static_cast<unsigned char>(1 + of + 16 * session + static_cast<int>(bytes % 7));
  };
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  DeviceMemory send(bytes, kind, gpu::device());
  DeviceMemory receive(bytes, kind, gpu::device());
  gpu::fill(send.get(), value(rank), bytes);
  gpu::fill(receive.get(), 0xee, bytes);
  CHECK_OK(MPI_Sendrecv(send.get(), static_cast<int>(bytes), MPI_BYTE, next, 3, receive.get(), static_cast<int>(bytes),
                        MPI_BYTE, previous, 3, comm, MPI_STATUS_IGNORE));
  std::vector<unsigned char> got(bytes);
  gpu::copy(got.data(), receive.get(), bytes);
  CHECK_EQ(std::count(got.begin(), got.end(), value(previous)), static_cast<std::ptrdiff_t>(bytes));
  CHECK_OK(MPI_Allreduce(send.get(), receive.get(), static_cast<int>(bytes), MPI_BYTE, MPI_BOR, comm));
  gpu::copy(got.data(), receive.get(), bytes);
  unsigned expected = 0;
  for (int each = 0; each < size; ++each) expected |= value(each);
  CHECK_EQ(std::count(got.begin(), got.end(), static_cast<unsigned char>(expected)),
           static_cast<std::ptrdiff_t>(bytes));
}

// Returns the resources held within a session once they are no more than before. If a process frees memory, the others
// release it in a later call, in which they learn that it was freed; messages in transit hold buffers of the heap.
Held settled(MPI_Comm comm, const Held& most, int processes) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int done = 0;;) {
    for (int round = 0; round < 200; ++round) CHECK_OK(MPI_Barrier(comm));
    const Held now = held();
    done = within(now, most, processes) ? 1 : 0;
    if (std::chrono::steady_clock::now() > end) done = 1;
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, comm));
    if (done == 1) return now;
  }
}

Held use(int number, const Held& most, int* processes) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Comm_size(comm, processes));
  for (const MemoryKind kind : hr::test::kDeviceKinds) {
    for (const std::size_t bytes : kSizes) {
      if (number < kWarm || bytes <= kShort) exchange(comm, number, kind, bytes);
    }
  }
  const Held now = settled(comm, most, *processes);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Session_finalize(&session));
  return now;
}

}  // namespace

int main() {
  if (!gpu::available()) {
    std::printf("skipped: no CUDA device\n");
    return 0;
  }
  gpu::select(0);
  Held most;
  for (int number = 0; number < kSessions; ++number) {
    const bool warm = number >= kWarm;
    int processes = 0;
    const Held now = use(number, warm ? most : kAnything, &processes);
    if (warm && !within(now, most, processes)) {
      std::fprintf(stderr, "in session %d: %s; before at most %s\n", number, text_of(now).c_str(),
                   text_of(most).c_str());
      ::_exit(1);  // ends here, as the others wait
    }
    if (!warm) {
      most = {std::max(most.device, now.device + device_room()), std::max(most.heap, now.heap),
              std::max(most.files, now.files + kFilesRoom)};
    }
  }
  return 0;
}

// Behaviour with bad input and failing devices: one case per run, named on the command line, driven by
// test_device_errors.py, which requests the faults. A case that succeeds prints "right"; wrong data ends the job with
// "wrong data".
//
//   past_end     buffers that extend beyond their allocation: MPI_ERR_BUFFER, naming pointer, size and device
//   exchange     messages and collectives of every path between all ranks, checked
//   endless      large messages back and forth until the job is ended; each rank prints "under way" once
//   freed        a send buffer that is freed before its message is received
#include <unistd.h>

#include <algorithm>

#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::DeviceMemory;
using hr::test::MemoryKind;

void say(const char* what) {
  std::printf("%s\n", what);
  std::fflush(stdout);
}

void expect_error(const std::string& call, int code, int wanted, const DeviceMemory& memory, std::size_t bytes) {
  int error_class = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  CHECK_OK(MPI_Error_class(code, &error_class));
  CHECK_OK(MPI_Error_string(code, text, &length));
  if (error_class != wanted) check::fail(__FILE__, __LINE__, call + ": another error: " + text);
  char pointer[32];
  std::snprintf(pointer, sizeof pointer, "%p", memory.get());
  for (const std::string& part :
       {std::string(pointer), std::to_string(bytes), "device " + std::to_string(memory.device())}) {
    if (std::string(text).find(part) == std::string::npos) {
      check::fail(__FILE__, __LINE__, call + ": the text lacks " + part + ": " + text);
    }
  }
}

void past_end(const check::Environment& mpi) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (const MemoryKind kind : hr::test::kDeviceKinds) {
    Buffer memory(std::size_t{1} << 20, kind);
    const int count = 1 << 28;
    const std::size_t bytes = std::size_t{4} << 28;
    void* address = memory.get();
    MPI_Request request = MPI_REQUEST_NULL;
    const auto expect = [&](const char* call, int code) { expect_error(call, code, MPI_ERR_BUFFER, memory, bytes); };
    expect("MPI_Send", MPI_Send(address, count, MPI_INT, mpi.rank, 0, MPI_COMM_WORLD));
    expect("MPI_Isend", MPI_Isend(address, count, MPI_INT, mpi.rank, 0, MPI_COMM_WORLD, &request));
    expect("MPI_Recv", MPI_Recv(address, count, MPI_INT, mpi.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    expect("MPI_Irecv", MPI_Irecv(address, count, MPI_INT, mpi.rank, 0, MPI_COMM_WORLD, &request));
  }
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

// Contiguous and strided messages, small and large, from and to the host and the device, and reductions. The program
// allocates its memory before the first message, so that faults that are counted in calls can target the library.
class Exchange {
 public:
  explicit Exchange(const check::Environment& mpi)
      : mpi_(mpi),
        device_send_(kBytes, MemoryKind::kDevice),
        device_receive_(kBytes, MemoryKind::kDevice),
        pool_send_(kBytes, MemoryKind::kPool),
        host_send_(kBytes, MemoryKind::kHost),
        host_receive_(kBytes, MemoryKind::kHost) {
    CHECK_OK(MPI_Type_vector(1000, 3, 7, MPI_INT, &strided_));
    CHECK_OK(MPI_Type_commit(&strided_));
  }
  ~Exchange() { MPI_Type_free(&strided_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void run() {
    for (int round = 0; round < 3; ++round) {
      for (const int bytes : {8, 4096, 200000, static_cast<int>(kBytes)}) {
        contiguous(device_send_, device_receive_, bytes, round);
        contiguous(pool_send_, device_receive_, bytes, round);
        contiguous(device_send_, host_receive_, bytes, round);
        contiguous(host_send_, device_receive_, bytes, round);
      }
      strided(device_send_, device_receive_, round);
      strided(device_send_, host_receive_, round);
      reduce(round);
    }
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{2} << 20;

  void contiguous(Buffer& from, Buffer& to, int bytes, int round) {
    from.write(content(kBytes, static_cast<unsigned>(mpi_.rank * 10 + round)));
    std::vector<std::byte> expected = content(kBytes, 5000);
    to.write(expected);
    const auto arriving = content(kBytes, static_cast<unsigned>(previous() * 10 + round));
    std::copy_n(arriving.begin(), bytes, expected.begin());
    CHECK_OK(MPI_Sendrecv(from.get(), bytes, MPI_BYTE, next(), 1, to.get(), bytes, MPI_BYTE, previous(), 1,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (to.read() != expected) check::fail(__FILE__, __LINE__, "wrong data in a message");
  }

  void strided(Buffer& from, Buffer& to, int round) {
    from.write(content(kBytes, static_cast<unsigned>(mpi_.rank * 10 + round)));
    std::vector<std::byte> expected = content(kBytes, 5001);
    to.write(expected);
    const auto arriving = content(kBytes, static_cast<unsigned>(previous() * 10 + round));
    for (std::size_t element = 0; element < 20; ++element) {
      for (std::size_t block = 0; block < 1000; ++block) {
        // 20 consecutive elements: the extent ends with the last block.
        const std::size_t at = element * (999 * 7 + 3) * 4 + block * 7 * 4;
        std::copy_n(arriving.begin() + static_cast<std::ptrdiff_t>(at), 12,
                    expected.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    CHECK_OK(MPI_Sendrecv(from.get(), 20, strided_, next(), 2, to.get(), 20, strided_, previous(), 2, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    if (to.read() != expected) check::fail(__FILE__, __LINE__, "wrong data in a strided message");
  }

  void reduce(int round) {
    constexpr std::size_t kCount = kBytes / sizeof(int);
    device_send_.put(std::vector<int>(kCount, mpi_.rank + round));
    CHECK_OK(MPI_Allreduce(device_send_.get(), device_receive_.get(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (device_receive_.take<int>() != std::vector<int>(kCount, mpi_.size * (mpi_.size - 1) / 2 + mpi_.size * round)) {
      check::fail(__FILE__, __LINE__, "wrong data in a reduction");
    }
  }

  int next() const { return (mpi_.rank + 1) % mpi_.size; }
  int previous() const { return (mpi_.rank + mpi_.size - 1) % mpi_.size; }

  const check::Environment& mpi_;
  Buffer device_send_, device_receive_, pool_send_, host_send_, host_receive_;
  MPI_Datatype strided_ = MPI_DATATYPE_NULL;
};

void endless(const check::Environment& mpi) {
  constexpr int kBytes = 32 << 20;
  Buffer from(kBytes, MemoryKind::kDevice), to(kBytes, MemoryKind::kDevice);
  const int next = (mpi.rank + 1) % mpi.size, previous = (mpi.rank + mpi.size - 1) % mpi.size;
  for (int round = 0;; ++round) {
    CHECK_OK(MPI_Sendrecv(from.get(), kBytes, MPI_BYTE, next, 0, to.get(), kBytes, MPI_BYTE, previous, 0,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (round == 1) {
      const std::string line = "under way " + std::to_string(::getpid());
      say(line.c_str());
    }
  }
}

// Erroneous, but an easy mistake: the tensor is freed while its message waits. The received data is undefined, or an
// error says what is wrong, but nothing hangs or crashes.
void freed(const check::Environment& mpi) {
  constexpr int kBytes = 8 << 20;
  Buffer to(kBytes, MemoryKind::kDevice);
  MPI_Request request = MPI_REQUEST_NULL;
  const int next = (mpi.rank + 1) % mpi.size, previous = (mpi.rank + mpi.size - 1) % mpi.size;
  {
    Buffer from(kBytes, MemoryKind::kDevice);
    CHECK_OK(MPI_Isend(from.get(), kBytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK_OK(MPI_Recv(to.get(), kBytes, MPI_BYTE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "exchange";
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  if (name == "past_end" || name == "all") past_end(mpi);
  if (name == "exchange" || name == "all") Exchange(mpi).run();
  if (name == "endless") endless(mpi);
  if (name == "freed") freed(mpi);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (mpi.rank == 0) say("right");
  return 0;
}

// Order between MPI calls and the program's work on devices: work on the legacy default stream before a call is done
// before the call reads or writes the memory, on either side; work after a receive, on any stream, sees the data.
// Nothing here waits for the device between the work and the call.
#include <functional>

#include "driver_function.hpp"
#include "mpi_memory.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;

constexpr MemoryKind kKinds[] = {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kVmm, MemoryKind::kVmmPrivate,
                                 MemoryKind::kManaged};
constexpr std::size_t kSizes[] = {64, 8192, std::size_t{1} << 20, std::size_t{6} << 20};

// Keeps the default stream busy for a while; the last step fills `memory` with `value`.
class Work {
 public:
  explicit Work(bool long_lasting)
      : repeats_(long_lasting ? 200 : 20),
        bytes_(long_lasting ? std::size_t{64} << 20 : std::size_t{1} << 20),
        load_(bytes_, MemoryKind::kDevice, gpu::device()) {}
  void then_fill(DeviceMemory& memory, unsigned char value) {
    static auto* set =
        hr::test::driver_function<int(unsigned long long, unsigned char, std::size_t, gpu::Stream)>("cuMemsetD8Async");
    const auto fill = [](const DeviceMemory& what, unsigned char byte) {
      gpu::check(set(reinterpret_cast<std::uintptr_t>(what.get()), byte, what.size(), gpu::kDefaultStream),
                 "cuMemsetD8Async");
    };
    for (int i = 0; i < repeats_; ++i) fill(load_, static_cast<unsigned char>(i));
    fill(memory, static_cast<unsigned char>(~value));
    fill(memory, value);
  }

 private:
  int repeats_;
  std::size_t bytes_;
  DeviceMemory load_;
};

// Checks the memory as a program that relies on the call would: on a separate stream that waits for nothing.
void expect_all(const DeviceMemory& memory, unsigned char value, const std::string& what) {
  static const gpu::Stream stream = gpu::create_stream(true);
  std::vector<unsigned char> found(memory.size());
  gpu::copy_async(found.data(), memory.get(), memory.size(), stream);
  gpu::synchronize(stream);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != value) {
      check::fail(__FILE__, __LINE__,
                  what + ": byte " + std::to_string(i) + " of " + std::to_string(found.size()) + " is " +
                      std::to_string(found[i]) + ", not " + std::to_string(value));
    }
  }
}

struct Case {
  std::string name;
  MemoryKind send_kind, receive_kind;
  std::size_t bytes;
};

class Ordering {
 public:
  Ordering(const check::Environment& mpi, bool long_lasting) : mpi_(mpi), work_(long_lasting) {}

  // Every rank sends to the next; `transfer(send, receive, bytes)`.
  void ring(const Case& test, const std::function<void(void*, void*, int)>& transfer) {
    const auto mine = static_cast<unsigned char>(2 * mpi_.rank + 1);
    const auto theirs = static_cast<unsigned char>(2 * previous() + 1);
    DeviceMemory send(test.bytes, test.send_kind, gpu::device());
    DeviceMemory receive(test.bytes, test.receive_kind, gpu::device());
    work_.then_fill(receive, 0xee);  // must not be after the message
    work_.then_fill(send, mine);     // must not be after the call has read it
    transfer(send.get(), receive.get(), static_cast<int>(test.bytes));
    const std::string what = test.name + " of " + std::to_string(test.bytes) + " bytes from " +
                             name_of(test.send_kind) + " to " + name_of(test.receive_kind) + " memory";
    expect_all(receive, theirs, what);
    gpu::synchronize();
    expect_all(receive, theirs, what + ", when all work is done");
  }

  void all(MemoryKind send_kind, MemoryKind receive_kind, std::size_t bytes) {
    ring({"MPI_Sendrecv", send_kind, receive_kind, bytes}, [&](void* send, void* receive, int count) {
      CHECK_OK(MPI_Sendrecv(send, count, MPI_BYTE, next(), 0, receive, count, MPI_BYTE, previous(), 0, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
    });
    ring({"MPI_Issend and MPI_Irecv", send_kind, receive_kind, bytes}, [&](void* send, void* receive, int count) {
      MPI_Request requests[2];
      CHECK_OK(MPI_Irecv(receive, count, MPI_BYTE, previous(), 1, MPI_COMM_WORLD, &requests[0]));
      CHECK_OK(MPI_Issend(send, count, MPI_BYTE, next(), 1, MPI_COMM_WORLD, &requests[1]));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    });
    ring({"MPI_Send, received later", send_kind, receive_kind, bytes}, [&](void* send, void* receive, int count) {
      MPI_Request request;
      CHECK_OK(MPI_Isend(send, count, MPI_BYTE, next(), 2, MPI_COMM_WORLD, &request));
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      CHECK_OK(MPI_Recv(receive, count, MPI_BYTE, previous(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    });
    ring({"strided MPI_Sendrecv", send_kind, receive_kind, bytes}, [&](void* send, void* receive, int count) {
      MPI_Datatype halves[2];  // the odd and then the even words: the whole buffer
      for (MPI_Datatype& half : halves) {
        CHECK_OK(MPI_Type_vector(count / 8, 1, 2, MPI_INT, &half));
        CHECK_OK(MPI_Type_commit(&half));
      }
      for (int i = 0; i < 2; ++i) {
        CHECK_OK(MPI_Sendrecv(static_cast<int*>(send) + i, 1, halves[i], next(), 3, static_cast<int*>(receive) + i, 1,
                              halves[i], previous(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Type_free(&halves[i]));
      }
    });
    ring({"MPI_Allgather and MPI_Sendrecv", send_kind, receive_kind, bytes}, [&](void* send, void* receive, int count) {
      // An allgather of single words: collectives also read the send buffer.
      std::vector<unsigned char> words(static_cast<std::size_t>(mpi_.size));
      CHECK_OK(MPI_Allgather(send, 1, MPI_BYTE, words.data(), 1, MPI_BYTE, MPI_COMM_WORLD));
      for (int rank = 0; rank < mpi_.size; ++rank) CHECK_EQ(int{words[static_cast<std::size_t>(rank)]}, 2 * rank + 1);
      CHECK_OK(MPI_Sendrecv(send, count, MPI_BYTE, next(), 4, receive, count, MPI_BYTE, previous(), 4, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
    });
    reduce(send_kind, receive_kind, bytes);
    broadcast(send_kind, bytes);
  }

 private:
  void reduce(MemoryKind send_kind, MemoryKind receive_kind, std::size_t bytes) {
    DeviceMemory send(bytes, send_kind, gpu::device());
    DeviceMemory receive(bytes, receive_kind, gpu::device());
    work_.then_fill(receive, 0xee);
    work_.then_fill(send, static_cast<unsigned char>(1u << (mpi_.rank % 8)));
    CHECK_OK(MPI_Allreduce(send.get(), receive.get(), static_cast<int>(bytes), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    unsigned expected = 0;
    for (int rank = 0; rank < mpi_.size; ++rank) expected |= 1u << (rank % 8);
    expect_all(receive, static_cast<unsigned char>(expected), "MPI_Allreduce of " + std::to_string(bytes) + " bytes");
  }

  void broadcast(MemoryKind kind, std::size_t bytes) {
    DeviceMemory buffer(bytes, kind, gpu::device());
    work_.then_fill(buffer, static_cast<unsigned char>(mpi_.rank + 1));
    const int root = mpi_.size - 1;
    CHECK_OK(MPI_Bcast(buffer.get(), static_cast<int>(bytes), MPI_BYTE, root, MPI_COMM_WORLD));
    if (mpi_.rank == root) gpu::synchronize();  // the root has received nothing
    expect_all(buffer, static_cast<unsigned char>(mpi_.size), "MPI_Bcast of " + std::to_string(bytes) + " bytes");
  }

  int next() const { return (mpi_.rank + 1) % mpi_.size; }
  int previous() const { return (mpi_.rank + mpi_.size - 1) % mpi_.size; }

  const check::Environment& mpi_;
  Work work_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  Ordering ordering(mpi, argc > 1 && std::string(argv[1]) == "all");
  for (const MemoryKind send : kKinds) {
    for (const MemoryKind receive : kKinds) {
      for (const std::size_t bytes : kSizes) {
        if (send == receive || bytes == kSizes[2]) ordering.all(send, receive, bytes);
      }
    }
  }
  return 0;
}

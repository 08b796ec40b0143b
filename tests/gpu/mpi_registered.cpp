// Host memory that the program registers with the driver (cuMemHostRegister), in part or in whole, by its own address
// or its device address, and that it unregisters, unmaps and remaps at the same address: messages, collectives and
// windows from and to it carry the right data whatever part is registered.
#include <sys/mman.h>

#include <algorithm>

#include "driver_function.hpp"
#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::MemoryKind;

constexpr std::size_t kPage = 4096;

// The registered part of a buffer, in percent of its pages, and the flags.
struct Part {
  int from, to;
  unsigned flags;
};
constexpr unsigned kPortable = 1, kMapped = 2;
constexpr Part kNothing{0, 0, 0};
constexpr Part kParts[] = {{0, 100, 0},      {0, 100, kPortable | kMapped}, {0, 50, 0}, kNothing, {50, 100, 0},
                           {25, 75, kMapped}};

// Pages at an address that is the same for every buffer.
class Registered {
 public:
  Registered(void* at, std::size_t bytes, const Part& part) : bytes_(bytes) {
    memory_ = static_cast<std::byte*>(::mmap(at, bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0));
    if (memory_ == MAP_FAILED) check::fail(__FILE__, __LINE__, "mmap");
    const std::size_t begin = pages(part.from), end = pages(part.to);
    alias_ = memory_;
    if (begin == end) return;
    registered_ = memory_ + begin;
    gpu::check(driver<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2")(registered_, end - begin, part.flags),
               "cuMemHostRegister");
    if ((part.flags & kMapped) == 0 || begin != 0) return;
    unsigned long long address = 0;
    gpu::check(driver<int(unsigned long long*, void*, unsigned)>("cuMemHostGetDevicePointer_v2")(&address, memory_, 0),
               "cuMemHostGetDevicePointer");
    alias_ = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  }
  ~Registered() {
    unregister();
    ::munmap(memory_, bytes_);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  void unregister() {
    if (registered_ != nullptr)
      gpu::check(driver<int(void*)>("cuMemHostUnregister")(registered_), "cuMemHostUnregister");
    registered_ = nullptr;
  }
  [[nodiscard]] std::byte* get() const { return memory_; }
  [[nodiscard]] std::byte* alias() const { return alias_; }
  void put(const std::vector<std::byte>& bytes) { std::copy(bytes.begin(), bytes.end(), memory_); }
  [[nodiscard]] std::vector<std::byte> take() const { return {memory_, memory_ + bytes_}; }

 private:
  template <class Function>
  static Function* driver(const char* name) {
    return hr::test::driver_function<Function>(name);
  }
  [[nodiscard]] std::size_t pages(int percent) const {
    return bytes_ / kPage * static_cast<std::size_t>(percent) / 100 * kPage;
  }

  std::size_t bytes_;
  std::byte* memory_ = nullptr;
  std::byte* alias_ = nullptr;
  std::byte* registered_ = nullptr;
};

class Exchange {
 public:
  explicit Exchange(const check::Environment& mpi) : mpi_(mpi) {}

  void* run(void* at, std::size_t bytes, const Part& part, int cycle, MemoryKind kind) {
    Registered host(at, bytes, part);
    Buffer device(bytes, kind);
    Buffer pageable(bytes, MemoryKind::kHost);
    const int count = static_cast<int>(bytes);
    const auto of = [&](int rank, int step) {
      return content(bytes, static_cast<unsigned>((cycle * 10 + step) * 64 + (rank + mpi_.size) % mpi_.size));
    };
    const auto expect = [&](const std::vector<std::byte>& found, const std::vector<std::byte>& wanted,
                            const char* what) {
      if (found == wanted) return;
      check::fail(__FILE__, __LINE__,
                  std::string(what) + ": wrong data, " + std::to_string(bytes) + " bytes, registered " +
                      std::to_string(part.from) + " to " + std::to_string(part.to) + " %, cycle " +
                      std::to_string(cycle));
    };
    host.put(of(mpi_.rank, 0));
    ring(cycle % 2 == 1 ? host.alias() : host.get(), device.get(), count);
    expect(device.read(), of(mpi_.rank - 1, 0), "registered to device");

    device.write(of(mpi_.rank, 1));
    host.put(content(bytes, 77));
    ring(device.get(), host.alias(), count);
    expect(host.take(), of(mpi_.rank - 1, 1), "device to registered");

    ring(host.get(), pageable.get(), count);
    expect(pageable.read(), of(mpi_.rank - 2, 1), "registered to pageable");

    // Rows on the device, one contiguous segment here.
    MPI_Datatype rows = MPI_DATATYPE_NULL;
    const int half = count / 128;
    CHECK_OK(MPI_Type_vector(half, 64, 128, MPI_BYTE, &rows));
    CHECK_OK(MPI_Type_commit(&rows));
    host.put(of(mpi_.rank, 2));
    CHECK_OK(MPI_Sendrecv(host.get(), half * 64, MPI_BYTE, next(), 1, device.get(), 1, rows, previous(), 1,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    host.put(content(bytes, 78));
    CHECK_OK(MPI_Sendrecv(device.get(), 1, rows, mpi_.rank, 2, host.get(), half * 64, MPI_BYTE, mpi_.rank, 2,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Type_free(&rows));
    auto wanted = content(bytes, 78);
    const auto sent = of(mpi_.rank - 1, 2);
    std::copy_n(sent.begin(), half * 64, wanted.begin());
    expect(host.take(), wanted, "rows");

    // A message to the rank itself, and collectives.
    device.write(of(mpi_.rank, 3));
    CHECK_OK(MPI_Sendrecv(device.get(), count, MPI_BYTE, mpi_.rank, 3, host.get(), count, MPI_BYTE, mpi_.rank, 3,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    expect(host.take(), of(mpi_.rank, 3), "device to registered of one process");
    CHECK_OK(MPI_Bcast(host.get(), count, MPI_BYTE, cycle % mpi_.size, MPI_COMM_WORLD));
    expect(host.take(), of(cycle % mpi_.size, 3), "broadcast");
    CHECK_OK(MPI_Allreduce(device.get(), host.get(), count, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD));
    std::vector<std::byte> combined(bytes);
    for (int rank = 0; rank < mpi_.size; ++rank) {
      const auto each = of(rank, 3);
      for (std::size_t i = 0; i < bytes; ++i) combined[i] ^= each[i];
    }
    expect(host.take(), combined, "reduction of device memory to registered memory");

    persistent(host, device, of(mpi_.rank, 4), of(mpi_.rank - 1, 4), expect);
    return host.get();
  }

 private:
  // Persistent requests created while the memory is registered, and started again when it is not.
  template <class Expect>
  void persistent(Registered& host, Buffer& device, const std::vector<std::byte>& mine,
                  const std::vector<std::byte>& theirs, const Expect& expect) {
    const int count = static_cast<int>(mine.size());
    MPI_Request requests[2];
    CHECK_OK(MPI_Send_init(device.get(), count, MPI_BYTE, next(), 5, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Recv_init(host.get(), count, MPI_BYTE, previous(), 5, MPI_COMM_WORLD, &requests[1]));
    for (int start = 0; start < 2; ++start) {
      device.write(mine);
      host.put(content(mine.size(), 79));
      CHECK_OK(MPI_Startall(2, requests));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      expect(host.take(), theirs, "persistent receive");
      host.unregister();
    }
    for (MPI_Request& request : requests) CHECK_OK(MPI_Request_free(&request));
  }

  void ring(void* out, void* in, int count) {
    CHECK_OK(MPI_Sendrecv(out, count, MPI_BYTE, next(), 0, in, count, MPI_BYTE, previous(), 0, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
  }
  [[nodiscard]] int next() const { return (mpi_.rank + 1) % mpi_.size; }
  [[nodiscard]] int previous() const { return (mpi_.rank + mpi_.size - 1) % mpi_.size; }

  const check::Environment& mpi_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  Exchange exchange(mpi);
  for (const std::size_t bytes : {kPage * 16, kPage * 256, kPage * 512}) {
    void* at = nullptr;
    int cycle = 0;
    for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kManaged}) {
      if (bytes > kPage * 16 && kind != MemoryKind::kDevice) continue;
      for (const Part& part : kParts) at = exchange.run(at, bytes, part, cycle++, kind);
    }
  }
  return 0;
}

// Devices of CUDA and of HIP in one process or one job. The program opens both drivers itself.
//
//   mpiexec -n 2 mpi_two_makers beside cuda|hip   the library uses this maker; memory and streams of the other one are
//                                                 used at the same time, by a second thread and between the calls
//   mpiexec -n 2 mpi_two_makers mixed             each rank has the maker that its library uses
//
// In `mixed`, HEADRACE_CUDA and HEADRACE_HIP determine the maker of each rank.
#include <dlfcn.h>
#include <mpi-ext.h>
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace {

using Values = std::vector<int>;

// One maker's driver, and one of its devices.
class Gpu {
 public:
  Gpu(const char* library, const char* prefix) : library_(::dlopen(library, RTLD_NOW)), prefix_(prefix) {
    if (library_ == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
    CHECK(library_ != nullptr);
  }
  virtual ~Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // Makes the device current in this thread.
  virtual void use() = 0;
  // Identifies the thread's current device.
  [[nodiscard]] virtual void* current() = 0;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, void* stream) = 0;
  virtual void finish(void* stream) = 0;

 protected:
  // Calls a function of the driver; the program ends if it fails.
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const std::string symbol = std::string(prefix_) + name;
    const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, symbol.c_str()));
    const int result = function == nullptr ? -1 : function(arguments...);
    if (result == 0) return;
    std::fprintf(stderr, "%s failed: %d\n", symbol.c_str(), result);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

 private:
  void* library_;
  const char* prefix_;
};

class Cuda final : public Gpu {
 public:
  explicit Cuda(int rank) : Gpu("libcuda.so.1", "cu") {
    int devices = 0;
    call("Init", 0U);
    call("DeviceGetCount", &devices);
    call("DevicePrimaryCtxRetain", &context_, rank % devices);
  }
  void use() override { call("CtxSetCurrent", context_); }
  [[nodiscard]] void* current() override {
    void* context = nullptr;
    call("CtxGetCurrent", &context);
    return context;
  }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    call("MemAlloc_v2", &memory, bytes);
    return memory;
  }
  void release(void* memory) override { call("MemFree_v2", memory); }
  void* create_stream() override {
    void* stream = nullptr;
    call("StreamCreate", &stream, 1U);
    return stream;
  }
  void destroy_stream(void* stream) override { call("StreamDestroy_v2", stream); }
  void copy(void* to, const void* from, std::size_t bytes, void* stream) override {
    call("MemcpyAsync", to, from, bytes, stream);
  }
  void finish(void* stream) override { call("StreamSynchronize", stream); }

 private:
  void* context_ = nullptr;
};

class Hip final : public Gpu {
 public:
  explicit Hip(int rank) : Gpu("libamdhip64.so.7", "hip") {
    int devices = 0;
    call("GetDeviceCount", &devices);
    device_ = rank % devices;
  }
  ~Hip() override { call("GetLastError"); }  // no call of the library has left an error
  void use() override { call("SetDevice", device_); }
  [[nodiscard]] void* current() override {
    int device = 0;
    call("GetDevice", &device);
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(device));
  }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    call("Malloc", &memory, bytes);
    return memory;
  }
  void release(void* memory) override { call("Free", memory); }
  void* create_stream() override {
    void* stream = nullptr;
    call("StreamCreateWithFlags", &stream, 1U);
    return stream;
  }
  void destroy_stream(void* stream) override { call("StreamDestroy", stream); }
  void copy(void* to, const void* from, std::size_t bytes, void* stream) override {
    constexpr int kByAddresses = 4;
    call("MemcpyAsync", to, from, bytes, kByAddresses, stream);
  }
  void finish(void* stream) override { call("StreamSynchronize", stream); }

 private:
  int device_ = 0;
};

std::unique_ptr<Gpu> gpu_of(bool cuda, int rank) {
  if (cuda) return std::make_unique<Cuda>(rank);
  return std::make_unique<Hip>(rank);
}

// Device memory, and a stream for the copies to it and from it. Owner: RAII; the device must be current.
class Memory {
 public:
  Memory(Gpu& gpu, std::size_t count)
      : gpu_(gpu), bytes_(count * sizeof(int)), stream_(gpu.create_stream()), start_(gpu.allocate(bytes_)) {}
  ~Memory() {
    gpu_.release(start_);
    gpu_.destroy_stream(stream_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] int* data() const { return static_cast<int*>(start_); }
  void write(const Values& values) {
    gpu_.copy(start_, values.data(), values.size() * sizeof(int), stream_);
    gpu_.finish(stream_);
  }
  void copy_from(const Memory& other) {
    gpu_.copy(start_, other.start_, bytes_, stream_);
    gpu_.finish(stream_);
  }
  [[nodiscard]] Values read() const {
    Values values(bytes_ / sizeof(int), -1);
    gpu_.copy(values.data(), start_, bytes_, stream_);
    gpu_.finish(stream_);
    return values;
  }

 private:
  Gpu& gpu_;
  std::size_t bytes_;
  void* stream_;
  void* start_;
};

Values values_of(int seed, std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i * 7 + 1) * (seed + 1);
  return values;
}

// Uses a device in a thread of its own until it is stopped.
class Busy {
 public:
  explicit Busy(Gpu& gpu) : thread_([this, &gpu] { work(gpu); }) {}
  ~Busy() {
    stop_ = true;
    thread_.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  [[nodiscard]] int rounds() const { return rounds_; }

 private:
  void work(Gpu& gpu) {
    gpu.use();
    while (!stop_) {
      const std::size_t count = 1000 + 37 * static_cast<std::size_t>(rounds_ % 100);
      Memory first(gpu, count), second(gpu, count);
      first.write(values_of(rounds_, count));
      second.copy_from(first);
      CHECK(second.read() == values_of(rounds_, count));
      ++rounds_;
    }
  }

  std::atomic<bool> stop_ = false;
  std::atomic<int> rounds_ = 0;
  std::thread thread_;
};

constexpr std::size_t kCounts[] = {1, 500, 40000, 700000};

// Messages round the ranks between memory of this process's device and of the host, a column, a broadcast and a sum.
void exchange(Gpu& gpu, int rank, int size) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (const std::size_t count : kCounts) {
    const int n = static_cast<int>(count);
    Memory source(gpu, count), target(gpu, count);
    source.write(values_of(rank, count));
    target.write(Values(count, -2));
    CHECK_OK(MPI_Sendrecv(source.data(), n, MPI_INT, next, 1, target.data(), n, MPI_INT, before, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK(target.read() == values_of(before, count));

    Values host(count, -3);
    CHECK_OK(MPI_Sendrecv(source.data(), n, MPI_INT, next, 2, host.data(), n, MPI_INT, before, 2, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK(host == values_of(before, count));
    host = values_of(rank + 50, count);
    CHECK_OK(MPI_Sendrecv(host.data(), n, MPI_INT, next, 3, target.data(), n, MPI_INT, before, 3, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK(target.read() == values_of(before + 50, count));

    CHECK_OK(MPI_Allreduce(source.data(), target.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    Values sum = values_of(0, count);
    for (int& each : sum) each *= size * (size + 1) / 2;
    CHECK(target.read() == sum);
    if (rank == 0) target.write(values_of(77, count));
    CHECK_OK(MPI_Bcast(target.data(), n, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(target.read() == values_of(77, count));
  }

  constexpr int kRows = 700, kColumns = 40;
  Memory matrix(gpu, kRows * kColumns), column(gpu, kRows);
  matrix.write(values_of(rank, kRows * kColumns));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(kRows, 1, kColumns, MPI_INT, &type));
  CHECK_OK(MPI_Type_commit(&type));
  CHECK_OK(MPI_Sendrecv(matrix.data(), 1, type, next, 4, column.data(), kRows, MPI_INT, before, 4, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Type_free(&type));
  const Values whole = values_of(before, kRows * kColumns), got = column.read();
  for (std::size_t row = 0; row < kRows; ++row) CHECK(got[row] == whole[row * kColumns]);

  // A window in device memory: each rank puts into that of the next one, and gets it back.
  constexpr int kCount = 30000;
  Memory shared(gpu, kCount), origin(gpu, kCount), back(gpu, kCount);
  shared.write(Values(kCount, -4));
  origin.write(values_of(rank + 9, kCount));
  MPI_Win window = MPI_WIN_NULL;
  CHECK_OK(MPI_Win_create(shared.data(), kCount * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK_OK(MPI_Put(origin.data(), kCount, MPI_INT, next, 0, kCount, MPI_INT, window));
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK_OK(MPI_Get(back.data(), kCount, MPI_INT, next, 0, kCount, MPI_INT, window));
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK(back.read() == values_of(rank + 9, kCount));
  CHECK(shared.read() == values_of(before + 9, kCount));
  CHECK_OK(MPI_Win_free(&window));
}

void beside(bool cuda, int rank, int size) {
  constexpr std::size_t kCount = 5000;
  constexpr int kTimes = 3, kRounds = 20;
  const auto used = gpu_of(cuda, rank), other = gpu_of(!cuda, rank);
  used->use();
  other->use();
  void *const current = used->current(), *const other_current = other->current();
  Memory kept(*other, kCount);
  kept.write(values_of(rank + 30, kCount));
  const Busy busy(*other);
  for (int time = 1, more = 1; more != 0; ++time) {
    exchange(*used, rank, size);
    CHECK(used->current() == current);
    CHECK(other->current() == other_current);
    CHECK(kept.read() == values_of(rank + 30, kCount));
    const int mine = time < kTimes || busy.rounds() < kRounds ? 1 : 0;
    CHECK_OK(MPI_Allreduce(&mine, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  int rank = 0, size = 0;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool cuda = MPIX_Query_cuda_support() == 1;
  CHECK(MPIX_Query_hip_support() == (cuda ? 0 : 1));
  if (mode == "beside") {
    CHECK(cuda == (std::string(argv[2]) == "cuda"));
    beside(cuda, rank, size);
  } else {
    const auto gpu = gpu_of(cuda, rank);
    gpu->use();
    exchange(*gpu, rank, size);
  }
  CHECK_OK(MPI_Finalize());
  return 0;
}

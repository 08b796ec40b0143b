// MPI calls while the program captures a stream (CUDA graphs): in each mode, on streams that synchronise with the
// default stream and on streams that do not, in this thread and in another one. The messages are correct, none of the
// library's work enters the graph, and the capture stays valid.
#include <atomic>
#include <thread>

#include "driver_function.hpp"
#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::DeviceMemory;
using hr::test::MemoryKind;

constexpr const char* kModes[] = {"global", "thread-local", "relaxed"};

template <class Function>
Function* driver(const char* name) {
  Function* const found = hr::test::driver_function<Function>(name);
  if (found == nullptr) check::fail(__FILE__, __LINE__, std::string("the driver lacks ") + name);
  return found;
}

void fill_async(DeviceMemory& memory, unsigned char value, gpu::Stream stream) {
  static auto* set = driver<int(unsigned long long, unsigned char, std::size_t, gpu::Stream)>("cuMemsetD8Async");
  gpu::check(set(reinterpret_cast<std::uintptr_t>(memory.get()), value, memory.size(), stream), "cuMemsetD8Async");
}

// A captured stream that fills a piece of memory twice.
class Capture {
 public:
  Capture(int mode, bool independent, const std::string& what)
      : what_(what), memory_(65536, MemoryKind::kDevice, gpu::device()), stream_(gpu::create_stream(independent)) {
    gpu::fill(memory_.get(), 1, memory_.size());
    gpu::synchronize();
    mode_ = mode;
  }
  ~Capture() { gpu::destroy_stream(stream_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void begin() {
    gpu::check(driver<int(gpu::Stream, int)>("cuStreamBeginCapture_v2")(stream_, mode_), "cuStreamBeginCapture");
    fill_async(memory_, 2, stream_);
  }
  void end() {
    fill_async(memory_, 3, stream_);
    void* graph = nullptr;
    const int result = driver<int(gpu::Stream, void**)>("cuStreamEndCapture")(stream_, &graph);
    if (result != 0)
      check::fail(__FILE__, __LINE__, what_ + ": the capture is spoilt, error " + std::to_string(result));
    std::size_t nodes = 0;
    gpu::check(driver<int(void*, void**, std::size_t*)>("cuGraphGetNodes")(graph, nullptr, &nodes), "cuGraphGetNodes");
    if (nodes != 2)
      check::fail(__FILE__, __LINE__, what_ + ": the graph has " + std::to_string(nodes) + " nodes, not 2");
    expect(1);
    void* executable = nullptr;
    gpu::check(driver<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&executable, graph, 0),
               "cuGraphInstantiate");
    gpu::check(driver<int(void*, gpu::Stream)>("cuGraphLaunch")(executable, stream_), "cuGraphLaunch");
    gpu::synchronize(stream_);
    expect(3);
    gpu::check(driver<int(void*)>("cuGraphExecDestroy")(executable), "cuGraphExecDestroy");
    gpu::check(driver<int(void*)>("cuGraphDestroy")(graph), "cuGraphDestroy");
  }

 private:
  void expect(unsigned char value) {
    for (const std::byte each : memory_.read()) {
      if (each != std::byte{value}) check::fail(__FILE__, __LINE__, what_ + ": the graph's memory is wrong");
    }
  }

  std::string what_;
  DeviceMemory memory_;
  gpu::Stream stream_;
  int mode_ = 0;
};

// Messages of a ring and collectives, between `begin` and `end`; results are checked after `end`.
class Messages {
 public:
  Messages(const check::Environment& mpi, MemoryKind kind, std::size_t bytes)
      : mpi_(mpi), bytes_(bytes), send_(bytes, kind), receive_(bytes, kind), other_(bytes, kind), sum_(bytes, kind) {}

  template <class Begin, class End>
  void exchange(unsigned salt, const std::string& what, const Begin& begin, const End& end) {
    const int count = static_cast<int>(bytes_);
    const int next = (mpi_.rank + 1) % mpi_.size, previous = (mpi_.rank + mpi_.size - 1) % mpi_.size;
    send_.write(of(mpi_.rank, salt));
    for (Buffer* each : {&receive_, &other_, &sum_}) each->write(content(bytes_, 999));
    gpu::synchronize();
    // Work on the default stream that must precede the messages.
    Buffer late(bytes_, send_.kind());
    gpu::synchronize();
    begin([&] { fill_async(late, static_cast<unsigned char>(mpi_.rank + 1), gpu::kDefaultStream); });
    MPI_Request requests[4];
    CHECK_OK(MPI_Irecv(receive_.get(), count, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Isend(send_.get(), count, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Sendrecv(late.get(), count, MPI_BYTE, next, 1, other_.get(), count, MPI_BYTE, previous, 1,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Allreduce(send_.get(), sum_.get(), count, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD));
    if (count >= 64) {
      MPI_Datatype rows = MPI_DATATYPE_NULL;  // the even and then the odd words of a buffer
      CHECK_OK(MPI_Type_vector(count / 8, 4, 8, MPI_BYTE, &rows));
      CHECK_OK(MPI_Type_commit(&rows));
      for (int i = 0; i < 2; ++i) {
        CHECK_OK(MPI_Sendrecv(send_.bytes() + 4 * i, 1, rows, next, 2, receive_.bytes() + 4 * i, 1, rows, previous, 2,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      }
      CHECK_OK(MPI_Type_free(&rows));
    }
    end();
    expect(receive_.read(), of(previous, salt), what + ", a message");
    expect(other_.read(), std::vector<std::byte>(bytes_, static_cast<std::byte>(previous + 1)),
           what + ", a message after the default stream");
    std::vector<std::byte> combined(bytes_);
    for (int rank = 0; rank < mpi_.size; ++rank) {
      const auto each = of(rank, salt);
      for (std::size_t i = 0; i < bytes_; ++i) combined[i] ^= each[i];
    }
    expect(sum_.read(), combined, what + ", a reduction");
  }

 private:
  [[nodiscard]] std::vector<std::byte> of(int rank, unsigned salt) const {
    return content(bytes_, salt * 64 + static_cast<unsigned>(rank));
  }
  void expect(const std::vector<std::byte>& found, const std::vector<std::byte>& wanted,
              const std::string& what) const {
    if (found != wanted) check::fail(__FILE__, __LINE__, what + " of " + std::to_string(bytes_) + " bytes: wrong data");
  }

  const check::Environment& mpi_;
  std::size_t bytes_;
  Buffer send_, receive_, other_, sum_;
};

// Another thread captures from before the messages until after them.
class Other {
 public:
  Other(int mode, bool independent, const std::string& what) {
    const int device = gpu::device();
    thread_ = std::thread([=, this] {
      gpu::bind_thread(device);
      Capture capture(mode, independent, what);
      step_ = 1;
      await(2);
      capture.begin();
      step_ = 3;
      await(4);
      capture.end();
    });
    await(1);
  }
  ~Other() {
    if (thread_.joinable()) end();
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  void begin() {
    step_ = 2;
    await(3);
  }
  void end() {
    step_ = 4;
    thread_.join();
  }

 private:
  void await(int step) const {
    while (step_ != step) std::this_thread::yield();
  }

  std::atomic<int> step_{0};
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_FUNNELED);
  if (!hr::test::select_device()) return 0;
  unsigned salt = 0;
  // The very first messages of device memory are sent within a capture.
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kVmm, MemoryKind::kManaged}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{512} << 10}) {
      Messages messages(mpi, kind, bytes);
      for (int mode = 2; mode >= 0; --mode) {
        for (const bool independent : {true, false}) {
          std::string what = std::string(kModes[mode]) + " capture of " +
                             (independent ? "an independent" : "a blocking") + " stream, " + hr::test::name_of(kind) +
                             " memory";
          {
            Capture capture(mode, independent, what);
            messages.exchange(
                ++salt, what,
                [&](const auto& work) {
                  work();
                  capture.begin();
                },
                [&] { capture.end(); });
          }
          what = "another thread's " + what;
          Other capture(mode, independent, what);
          messages.exchange(
              ++salt, what,
              [&](const auto& work) {
                work();
                capture.begin();
              },
              [&] { capture.end(); });
        }
      }
    }
  }
  return 0;
}

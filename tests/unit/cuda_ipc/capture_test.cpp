// Calls allowed during a stream capture, and the driver's copies of partly registered host memory:
// assumptions that the fake driver and the library make (mem/device.hpp, host_copy.hpp).
#include <sys/mman.h>

#include "fixture.hpp"

namespace cuda_ipc {
namespace {

constexpr int kGlobal = 0, kThreadLocal = 1, kRelaxed = 2;
constexpr int kUnsupported = 900, kInvalidated = 901, kImplicit = 906;
const gpu::Stream kLegacy = reinterpret_cast<gpu::Stream>(std::uintptr_t{1});

template <class Function>
Function* driver(const char* name) {
  return hr::test::driver_function<Function>(name);
}

class Captures : public hr::test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    memory_ = gpu::allocate(kBytes);
    event_ = gpu::create_event();
    other_ = gpu::create_stream(false);
    gpu::record(event_, other_);
    gpu::synchronize();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    gpu::destroy_event(event_);
    gpu::destroy_stream(other_);
    gpu::free(memory_);
  }
  gpu::Stream begin(int mode, bool independent = true) {
    const gpu::Stream stream = gpu::create_stream(independent);
    EXPECT_EQ(driver<int(gpu::Stream, int)>("cuStreamBeginCapture_v2")(stream, mode), 0);
    EXPECT_EQ(fill(stream), 0);
    return stream;
  }
  static int end(gpu::Stream stream) {
    void* graph = nullptr;
    const int result = driver<int(gpu::Stream, void**)>("cuStreamEndCapture")(stream, &graph);
    if (graph != nullptr) {
      EXPECT_EQ(driver<int(void*)>("cuGraphDestroy")(graph), 0);
    }
    gpu::destroy_stream(stream);
    return result;
  }
  int fill(gpu::Stream stream) const {
    return driver<int(Address, unsigned char, std::size_t, gpu::Stream)>("cuMemsetD8Async")(
        reinterpret_cast<std::uintptr_t>(memory_), 1, kBytes, stream);
  }
  int query() const { return driver<int(gpu::Event)>("cuEventQuery")(event_); }
  static int exchange(int* mode) { return driver<int(int*)>("cuThreadExchangeStreamCaptureMode")(mode); }

  void* memory_ = nullptr;
  gpu::Event event_ = nullptr;
  gpu::Stream other_ = nullptr;
};

TEST_F(Captures, QuestionsSpoilThem) {
  for (const int mode : {kGlobal, kThreadLocal}) {
    const gpu::Stream stream = begin(mode);
    EXPECT_EQ(query(), kUnsupported) << mode;
    EXPECT_EQ(end(stream), kInvalidated) << mode;
  }
  const gpu::Stream stream = begin(kRelaxed);
  EXPECT_EQ(query(), 0);
  EXPECT_EQ(end(stream), 0);
}

TEST_F(Captures, AThreadInRelaxedModeMayAsk) {
  for (const int mode : {kGlobal, kThreadLocal, kRelaxed}) {
    for (const bool independent : {true, false}) {
      const gpu::Stream stream = begin(mode, independent);
      int own = kRelaxed;
      ASSERT_EQ(exchange(&own), 0);
      EXPECT_EQ(own, kGlobal);
      EXPECT_EQ(query(), 0);
      EXPECT_EQ(fill(other_), 0);
      EXPECT_EQ(driver<int(gpu::Stream)>("cuStreamSynchronize")(other_), 0);
      EXPECT_EQ(driver<int(gpu::Stream)>("cuStreamQuery")(other_), 0);
      Address made = 0;
      EXPECT_EQ((driver<int(Address*, std::size_t)>("cuMemAlloc_v2")(&made, kBytes)), 0);
      EXPECT_EQ(driver<int(Address)>("cuMemFree_v2")(made), 0);
      ASSERT_EQ(exchange(&own), 0);
      EXPECT_EQ(own, kRelaxed);
      EXPECT_EQ(end(stream), 0) << mode << independent;
    }
  }
}

TEST_F(Captures, OfABlockingStreamForbidTheDefaultStream) {
  auto* is_capturing = driver<int(gpu::Stream, int*)>("cuStreamIsCapturing");
  int status = 0;
  EXPECT_EQ(is_capturing(kLegacy, &status), 0);
  EXPECT_EQ(status, 0);
  gpu::Stream stream = begin(kRelaxed, false);
  EXPECT_EQ(is_capturing(kLegacy, &status), kImplicit);
  EXPECT_EQ(fill(other_), 0);
  EXPECT_EQ(driver<int(gpu::Stream)>("cuStreamSynchronize")(other_), 0);
  EXPECT_EQ(end(stream), 0);
  stream = begin(kRelaxed, false);
  EXPECT_EQ(driver<int(gpu::Stream)>("cuStreamQuery")(kLegacy), kImplicit);
  EXPECT_NE(end(stream), 0);
  stream = begin(kRelaxed, true);
  EXPECT_EQ(is_capturing(kLegacy, &status), 0);
  EXPECT_EQ(driver<int(gpu::Stream)>("cuStreamQuery")(kLegacy), 0);
  EXPECT_EQ(end(stream), 0);
}

TEST_F(Captures, RegisteredInPart) {
  constexpr std::size_t kHalf = kBytes / 2;
  auto* enlist = driver<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2");
  auto* strike = driver<int(void*)>("cuMemHostUnregister");
  auto* attribute = driver<int(void*, int, Address)>("cuPointerGetAttribute");
  auto* copy = driver<int(Address, Address, std::size_t, gpu::Stream)>("cuMemcpyAsync");
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const Address host = reinterpret_cast<std::uintptr_t>(memory), device = reinterpret_cast<std::uintptr_t>(memory_);
  const auto copies = [&](Address from, std::size_t bytes) {
    const int out = copy(device, from, bytes, other_);
    const int back = copy(from, device, bytes, other_);
    gpu::synchronize();
    EXPECT_EQ(out, back);
    return out;
  };

  ASSERT_EQ(enlist(memory, kHalf, 0), 0);
  Address start = 0;
  std::size_t size = 0;
  EXPECT_EQ(attribute(&start, 11, host + 4096), 0);
  EXPECT_EQ(attribute(&size, 12, host + 4096), 0);
  unsigned long long first = 0, last = 0, behind = 0;
  EXPECT_EQ(attribute(&first, 7, host), 0);
  EXPECT_EQ(attribute(&last, 7, host + kHalf - 1), 0);
  EXPECT_EQ(first, last);
  const bool known_behind = attribute(&behind, 7, host + kHalf) == 0;
  EXPECT_FALSE(known_behind && behind == first);
  EXPECT_EQ(start, host);
  EXPECT_EQ(size, kHalf);
  EXPECT_EQ(copies(host, kHalf), 0);
  EXPECT_EQ(copies(host, kBytes), 1);
  EXPECT_EQ(copies(host + kHalf, kHalf), 0);
  EXPECT_EQ(strike(memory), 0);
  EXPECT_EQ(copies(host, kBytes), 0);

  ASSERT_EQ(enlist(static_cast<char*>(memory) + kHalf, kHalf, 0), 0);
  EXPECT_EQ(copies(host, kBytes), 0);
  ASSERT_EQ(enlist(memory, kHalf, 0), 0);
  EXPECT_EQ(copies(host, kBytes), 1);
  EXPECT_EQ(strike(memory), 0);
  EXPECT_EQ(strike(static_cast<char*>(memory) + kHalf), 0);
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace cuda_ipc

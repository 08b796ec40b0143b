// Words that streams write and wait for, in device memory and in registered memory that another process shares.
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.hpp"

namespace cuda_ipc {
namespace {

class StreamValue : public Ipc {
 protected:
  void SetUp() override {
    Ipc::SetUp();
    if (IsSkipped()) return;
    write_ = hr::test::driver_function<int(void*, Address, std::uint32_t, unsigned)>("cuStreamWriteValue32_v2");
    wait_ = hr::test::driver_function<int(void*, Address, std::uint32_t, unsigned)>("cuStreamWaitValue32_v2");
    if (write_ == nullptr || wait_ == nullptr) GTEST_SKIP() << "an older driver";
  }
  int (*write_)(void*, Address, std::uint32_t, unsigned) = nullptr;
  int (*wait_)(void*, Address, std::uint32_t, unsigned) = nullptr;
};

TEST_F(StreamValue, OneStreamWaitsForAnother) {
  hr::test::DeviceMemory word(4096, hr::test::MemoryKind::kDevice);
  gpu::fill(word.get(), 0, 4096);
  hr::test::DeviceMemory data(kBytes, hr::test::MemoryKind::kDevice);
  gpu::fill(data.get(), 0, kBytes);
  const auto address = reinterpret_cast<std::uintptr_t>(word.get());
  const gpu::Stream first = gpu::create_stream(true), second = gpu::create_stream(true);
  std::vector<unsigned char> ones(kBytes, 1);
  hr::test::DeviceMemory copied(kBytes, hr::test::MemoryKind::kDevice);
  std::vector<unsigned char> found(kBytes);
  ASSERT_EQ(wait_(second, address, 7, 0 /* at least */), 0);
  // The copy is within the device, because a copy to pageable host memory would wait in the call.
  gpu::copy_async(copied.get(), data.get(), kBytes, second);
  gpu::copy_async(data.get(), ones.data(), kBytes, first);
  ASSERT_EQ(write_(first, address, 7, 0), 0);
  gpu::synchronize(first);
  gpu::synchronize(second);
  gpu::copy(found.data(), copied.get(), kBytes);
  EXPECT_EQ(found, ones);
  gpu::destroy_stream(first);
  gpu::destroy_stream(second);
}

TEST_F(StreamValue, AStreamWaitsForAnotherProcess) {
  const int file = ::memfd_create("stream_value_test", 0);
  ASSERT_EQ(::ftruncate(file, 4096), 0);
  void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* enlist = hr::test::driver_function<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2");
  auto* strike = hr::test::driver_function<int(void*)>("cuMemHostUnregister");
  auto* query = hr::test::driver_function<int(void*)>("cuStreamQuery");
  ASSERT_EQ(enlist(shared, 4096, 1 | 2 /* portable, mapped */), 0);
  Remote other({}, file);
  const gpu::Stream stream = gpu::create_stream(true);
  ASSERT_EQ(wait_(stream, reinterpret_cast<std::uintptr_t>(shared), 5, 1 /* equal */), 0);
  EXPECT_EQ(query(stream), 600);  // not ready
  other.ask({.what = What::kSetWord, .device = file, .value = 5});
  gpu::synchronize(stream);
  ASSERT_EQ(write_(stream, reinterpret_cast<std::uintptr_t>(shared) + 4, 9, 0), 0);
  gpu::synchronize(stream);
  EXPECT_EQ(static_cast<unsigned*>(shared)[1], 9u);
  gpu::destroy_stream(stream);
  EXPECT_EQ(strike(shared), 0);
  ::munmap(shared, 4096);
  ::close(file);
}

TEST_F(StreamValue, RegisteringWhatIsNotMappedFails) {
  void* gone = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::munmap(gone, 4096);
  auto* enlist = hr::test::driver_function<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2");
  EXPECT_NE(enlist(gone, 4096, 0), 0);
}

}  // namespace
}  // namespace cuda_ipc

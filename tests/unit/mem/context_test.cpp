// The library's objects in a program's contexts, and when they are released.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "driver_function.hpp"
#include "main.hpp"
#include "mem/device/device_buffer.hpp"
#include "mem/device/ipc.hpp"
#include "mem/device/work_event.hpp"
#include "mem/mem.hpp"
#include "memory_in_use.hpp"

namespace hr::mem {
namespace {

using test::DeviceMemory;
using test::MemoryKind;
using Contexts = test::GpuTest;

using test::driver_function;

Location where(const void* address) {
  Location location;
  EXPECT_TRUE(classify(address, &location).ok()) << take_detail();
  return location;
}

void expect_working(const void* address, const Location& location) {
  std::vector<std::byte> host(100);
  EXPECT_TRUE(copy(host.data(), Location{}, address, location, 100).ok()) << take_detail();
}

TEST_F(Contexts, ExhaustedMemorySaysSo) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  device::Context* context = nullptr;
  ASSERT_TRUE(device::Context::of(where(memory.get()), &context).ok()) << take_detail();
  const device::Current current(*context);
  device::DeviceBuffer made;
  EXPECT_EQ(made.allocate(*context, std::size_t{1} << 50).errc(), Errc::kNoMem);
  const std::string text = take_detail();
  EXPECT_NE(text.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << text;
}

// The exporting thread is like a progress thread, which has no CUDA context.
TEST_F(Contexts, AThreadWithoutAContextExportsMemory) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  const Location location = where(memory.get());
  std::thread([&] {
    device::Export made;
    EXPECT_TRUE(device::export_to(1, location, &made).ok()) << take_detail();
  }).join();
  shutdown();
}

// Work on a stream completes in order. unit_mem_one_question runs this with a driver in which the second query fails.
TEST_F(Contexts, ALaterEventAnswersForEarlierOnesOfItsStream) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  device::Context* context = nullptr;
  ASSERT_TRUE(device::Context::of(where(memory.get()), &context).ok()) << take_detail();
  const device::Current current(*context);
  device::WorkEvent first, second, third;
  ASSERT_TRUE(first.record(*context, context->stream()).ok()) << take_detail();
  ASSERT_TRUE(second.record(*context, context->stream()).ok()) << take_detail();
  ASSERT_TRUE(context->synchronize("the test").ok()) << take_detail();
  for (device::WorkEvent* each : {&second, &first}) {
    bool done = false;
    EXPECT_TRUE(each->poll("work of the test", &done).ok()) << take_detail();
    EXPECT_TRUE(done);
    EXPECT_FALSE(each->recorded());
  }
  // The end of one operation does not imply that of later ones, or of those in other streams.
  ASSERT_TRUE(third.record(*context, context->stream()).ok()) << take_detail();
  device::StreamHandle other = nullptr;
  ASSERT_TRUE(context->copy_stream(0, &other).ok()) << take_detail();
  EXPECT_TRUE(context->passed(context->stream(), 2));
  EXPECT_FALSE(context->passed(context->stream(), 3));
  EXPECT_FALSE(context->passed(other, 1));
}

TEST_F(Contexts, MemoryOfAnotherMakerIsRefused) {
  static int refused_by;
  refused_by = -1;
  DeviceMemory memory(4096, MemoryKind::kDevice);
  const Location location = where(memory.get());
  device::Context* context = nullptr;
  ASSERT_TRUE(device::Context::of(location, &context).ok()) << take_detail();
  const device::Current current(*context);
  device::Export foreign;
  ASSERT_TRUE(device::export_to(3, location, &foreign).ok()) << take_detail();
  foreign.maker = device::driver().support == 0 ? 2 : 0;
  set_export_hooks(nullptr, nullptr, [](int process, Unmappable what) {
    if (what == Unmappable::kAll) refused_by = process;
  });
  device::Mapping* mapping = nullptr;
  EXPECT_EQ(device::map_import(*context, 3, foreign, &mapping).errc(), Errc::kUnsupportedOperation);
  const std::string text = take_detail();
  EXPECT_NE(text.find("CUDA device"), std::string::npos) << text;
  EXPECT_NE(text.find("HIP device"), std::string::npos) << text;
  EXPECT_EQ(refused_by, 3);
  EXPECT_FALSE(device::exports_to(3, location));
  EXPECT_TRUE(device::exports_to(4, location));
  set_export_hooks(nullptr, nullptr, nullptr);
  shutdown();
}

// A query releases nothing to the host, so the word appears only if the memory is coherent.
TEST_F(Contexts, AWordOfAStreamAppearsInPinnedMemory) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  device::Context* context = nullptr;
  ASSERT_TRUE(device::Context::of(where(memory.get()), &context).ok()) << take_detail();
  const device::Current current(*context);
  const device::Driver& calls = device::driver();
  if (calls.stream_write_value == nullptr) GTEST_SKIP() << "streams write no words";
  void* page = nullptr;
  ASSERT_EQ(calls.host_allocate(&page, 4096, device::kHostRegisterPortable), device::kSuccess);
  auto* const word = static_cast<std::uint32_t*>(page);
  for (std::uint32_t number = 1; number < 20; ++number) {
    *word = 0;
    ASSERT_EQ(calls.stream_write_value(context->stream(), reinterpret_cast<std::uintptr_t>(page), number, 0),
              device::kSuccess);
    while (calls.stream_query(context->stream()) == device::kNotReady) {
    }
    EXPECT_EQ(std::atomic_ref<std::uint32_t>(*word).load(std::memory_order_acquire), number);
  }
  EXPECT_EQ(calls.host_free(page), device::kSuccess);
}

TEST_F(Contexts, WorksAgainAfterShutdown) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  DeviceMemory pool(4096, MemoryKind::kPool);
  for (int round = 0; round < 3; ++round) {
    expect_working(memory.get(), where(memory.get()));
    expect_working(pool.get(), where(pool.get()));
    shutdown();
  }
}

int open_descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return static_cast<int>(std::distance(begin(open), end(open)));
}

// shutdown() forgets, closes or releases all objects known, opened or created before.
TEST_F(Contexts, NothingIsLeftAfterShutdown) {
  static int begun = 0;
  const DeviceMemory memory(4096, MemoryKind::kDevice);
  const DeviceMemory chunks(4096, MemoryKind::kVmm);
  shutdown();
  const std::uint64_t bytes = test::memory_in_use();
  const int descriptors = open_descriptors();
  for (int round = 0; round < 3; ++round) {
    begun = 0;
    set_export_hooks([] { ++begun; }, [](int, std::uint64_t) {}, [](int, Unmappable) {});
    expect_working(memory.get(), where(memory.get()));
    const Location location = where(chunks.get());
    EXPECT_TRUE(device::exports_to(3, location));
    hide_memory_from(3, Unmappable::kChunks);
    EXPECT_FALSE(device::exports_to(3, location));
    device::Export made;
    EXPECT_TRUE(device::export_to(1, location, &made).ok()) << take_detail();
    EXPECT_TRUE(device::export_to(1, where(memory.get()), &made).ok()) << take_detail();
    EXPECT_EQ(begun, 1);
    EXPECT_TRUE(any_exports());
    EXPECT_GT(open_descriptors(), descriptors);
    shutdown();
    EXPECT_FALSE(any_exports());
    EXPECT_TRUE(device::export_to(1, where(memory.get()), &made).ok()) << take_detail();
    EXPECT_EQ(begun, 1) << "the hooks of before are called";
    shutdown();
    EXPECT_EQ(test::memory_in_use(), bytes);
    EXPECT_EQ(open_descriptors(), descriptors);
  }
}

TEST_F(Contexts, MemoryOfAContextThatIsNotThePrimary) {
  auto* create = driver_function<int(void**, unsigned, int)>("cuCtxCreate_v2");
  auto* destroy = driver_function<int(void*)>("cuCtxDestroy_v2");
  void* mine = nullptr;
  ASSERT_EQ(create(&mine, 0, 0), 0);
  void* memory = gpu::allocate(4096);
  const Location location = where(memory);
  EXPECT_EQ(location.context, mine);
  gpu::select(0);  // so that another context is current
  expect_working(memory, location);
  // Copies between two contexts of one device.
  DeviceMemory primary(4096, MemoryKind::kDevice);
  EXPECT_TRUE(copy(memory, location, primary.get(), where(primary.get()), 4096).ok()) << take_detail();
  ASSERT_EQ(destroy(mine), 0);
  std::vector<std::byte> host(16);
  EXPECT_FALSE(copy(host.data(), Location{}, memory, location, 16).ok());
  EXPECT_NE(take_detail().find("destroyed"), std::string::npos);
  static_cast<void>(gpu::detail::forget(memory));  // the memory was freed with its context
  gpu::select(0);
}

// cudaDeviceReset: the primary context is destroyed and created again, perhaps at the same address.
TEST_F(Contexts, SurvivesAResetOfTheDevice) {
  auto* reset = driver_function<int(int)>("cuDevicePrimaryCtxReset_v2");
  {
    DeviceMemory memory(4096, MemoryKind::kDevice);
    expect_working(memory.get(), where(memory.get()));
  }
  ASSERT_EQ(reset(0), 0);
  gpu::detail::driver().contexts[0] = nullptr;  // so that it is retained again
  gpu::select(0);
  DeviceMemory memory(4096, MemoryKind::kDevice);
  expect_working(memory.get(), where(memory.get()));
  DeviceMemory pool(4096, MemoryKind::kPool);
  expect_working(pool.get(), where(pool.get()));
}

TEST_F(Contexts, StagingIsReused) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  device::Context* context = nullptr;
  ASSERT_TRUE(device::Context::of(where(memory.get()), &context).ok());
  device::Current current(*context);
  ASSERT_TRUE(current.status().ok());
  device::DeviceAddress first = 0;
  {
    device::Staging staging;
    ASSERT_TRUE(staging.take(*context, 100000).ok());
    first = staging.address();
    device::Staging another;
    ASSERT_TRUE(another.take(*context, 100000).ok());
    EXPECT_NE(another.address(), first);
  }
  device::Staging again;
  ASSERT_TRUE(again.take(*context, 120000).ok());
  device::Staging other;
  ASSERT_TRUE(other.take(*context, 120000).ok());
  EXPECT_TRUE(again.address() == first || other.address() == first);
}

}  // namespace
}  // namespace hr::mem

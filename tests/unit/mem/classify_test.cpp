// The kind of memory at an address.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>
#include <vector>

#include "main.hpp"
#include "mem/device.hpp"
#include "mem/mem.hpp"

namespace hr::mem {
namespace {

using test::DeviceMemory;
using test::MemoryKind;
using Classify = test::GpuTest;

Location where(const void* address) {
  Location location;
  const Status status = classify(address, &location);
  EXPECT_TRUE(status.ok()) << take_detail();
  return location;
}

TEST_F(Classify, EveryKind) {
  for (const MemoryKind kind : test::kAllKinds) {
    SCOPED_TRACE(kind);
    DeviceMemory memory(100000, kind);
    if (kind == MemoryKind::kManaged) std::memset(memory.get(), 1, memory.size());  // the host accesses it
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{99999}}) {
      const Location location = where(memory.bytes() + offset);
      switch (kind) {
        case MemoryKind::kHost:
          EXPECT_EQ(location.kind, Kind::kHost);
          EXPECT_FALSE(location.pinned);
          break;
        case MemoryKind::kHostRegistered:
          // The memory may be on the heap, for which the driver is not queried.
          EXPECT_EQ(location.kind, Kind::kHost);
          break;
        case MemoryKind::kHostPinned:
          EXPECT_EQ(location.kind, Kind::kHost);
          EXPECT_TRUE(location.pinned);
          break;
        case MemoryKind::kManaged:
          EXPECT_EQ(location.kind, Kind::kManaged);
          EXPECT_TRUE(location.managed);
          break;
        default: {
          EXPECT_EQ(location.kind, Kind::kDevice);
          EXPECT_EQ(location.device, 0);
          EXPECT_EQ(location.chunks, kind == MemoryKind::kVmm);
          // For VMM memory, the range may be a chunk.
          const bool whole = kind == MemoryKind::kDevice || kind == MemoryKind::kPool;
          const auto begin = reinterpret_cast<std::uintptr_t>(memory.get());
          EXPECT_LE(location.base, whole ? begin : begin + offset);
          EXPECT_GE(location.base + location.bytes, whole ? begin + 100000 : begin + offset + 1);
        }
      }
      EXPECT_EQ(location.is_device(), !memory.cpu_accessible());
    }
  }
}

TEST_F(Classify, ManagedMemoryIsWhereItWasTouchedLast) {
  DeviceMemory memory(200000, MemoryKind::kManaged);
  auto* const bytes = static_cast<unsigned char*>(memory.get());
  for (int round = 0; round < 3; ++round) {
    std::memset(bytes, round, memory.size());
    EXPECT_EQ(where(bytes).kind, Kind::kManaged);
    gpu::fill(bytes, static_cast<unsigned char>(round + 7), memory.size());
    gpu::synchronize();
    EXPECT_EQ(where(bytes).kind, Kind::kDevice);
    EXPECT_TRUE(where(bytes).managed);
    EXPECT_EQ(bytes[100000], round + 7);  // this access moves the memory back
    EXPECT_EQ(where(bytes + 100000).kind, Kind::kManaged);
  }
}

// The location of a long buffer is determined at its middle.
TEST_F(Classify, ManagedMemoryTouchedByBoth) {
  const std::size_t size = std::size_t{8} << 20;
  DeviceMemory memory(size, MemoryKind::kManaged);
  gpu::fill(memory.get(), 7, size);
  gpu::synchronize();
  *static_cast<unsigned char*>(memory.get()) = 1;
  Location location;
  ASSERT_TRUE(classify(memory.get(), &location, size).ok()) << take_detail();
  EXPECT_EQ(location.kind, Kind::kDevice);
  EXPECT_EQ(where(memory.get()).kind, Kind::kManaged);
}

TEST_F(Classify, PoolAndVmmHaveNoContext) {
  DeviceMemory plain(4096, MemoryKind::kDevice);
  DeviceMemory pool(4096, MemoryKind::kPool);
  DeviceMemory vmm(4096, MemoryKind::kVmm);
  EXPECT_NE(where(plain.get()).context, nullptr);
  EXPECT_EQ(where(pool.get()).context, nullptr);
  EXPECT_EQ(where(vmm.get()).context, nullptr);
}

TEST_F(Classify, HostMemoryOfEverySort) {
  static int in_data = 1;
  int on_stack = 2;
  std::vector<char> on_heap(10);
  for (const void* address : {static_cast<const void*>(&in_data), static_cast<const void*>(&on_stack),
                              static_cast<const void*>(on_heap.data()), static_cast<const void*>(nullptr),
                              reinterpret_cast<const void*>(std::uintptr_t{16})}) {
    const Location location = where(address);
    EXPECT_EQ(location.kind, Kind::kHost);
    EXPECT_FALSE(location.pinned);
  }
}

// HIP does not report where registered memory begins.
TEST_F(Classify, RegisteredMemoryIsPinnedIfItContainsTheBuffer) {
  constexpr std::size_t kPage = 4096;
  void* const pages = ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const registered = static_cast<std::byte*>(pages) + kPage;
  ASSERT_NE(device::find_driver(), nullptr);
  ASSERT_EQ(device::driver().host_register(registered, 2 * kPage, device::kHostRegisterPortable), device::kSuccess);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, 2 * kPage - 2}) {
    Location location;
    ASSERT_TRUE(classify(registered + offset, &location, 2 * kPage - offset).ok()) << take_detail();
    EXPECT_EQ(location.kind, Kind::kHost);
    EXPECT_TRUE(location.pinned) << offset;
    EXPECT_EQ(location.base, reinterpret_cast<std::uintptr_t>(registered));
    EXPECT_EQ(location.bytes, 2 * kPage);
    ASSERT_TRUE(classify(registered + offset, &location, 2 * kPage - offset + 1).ok()) << take_detail();
    EXPECT_FALSE(location.pinned) << offset;
  }
  EXPECT_EQ(device::driver().host_unregister(registered), device::kSuccess);
  ::munmap(pages, 4 * kPage);
}

TEST_F(Classify, SecondDevice) {
  if (gpu::device_count() < 2) GTEST_SKIP() << "one device";
  for (const MemoryKind kind : test::kDeviceKinds) {
    DeviceMemory memory(4096, kind, 1);
    EXPECT_EQ(where(memory.get()).device, 1) << kind;
  }
}

TEST_F(Classify, FromAThreadThatNeverTouchedCuda) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  Location location;
  std::thread([&] { location = where(memory.get()); }).join();
  EXPECT_TRUE(location.is_device());
}

TEST_F(Classify, FreedMemoryIsNoDeviceMemory) {
  void* address = gpu::allocate(1 << 20);
  EXPECT_TRUE(where(address).is_device());
  gpu::free(address);
  EXPECT_FALSE(where(address).is_device());
}

TEST_F(Classify, ReusedAddressHasAnotherId) {
  void* address = gpu::allocate(1 << 20);
  const Location before = where(address);
  gpu::free(address);
  void* again = gpu::allocate(1 << 20);
  const Location after = where(again);
  EXPECT_NE(before.id, after.id);
  gpu::free(again);
}

TEST_F(Classify, RangeMustStayInsideTheAllocation) {
  DeviceMemory memory(8 << 20, MemoryKind::kDevice);
  const Location location = where(memory.get());
  EXPECT_TRUE(check_range(memory.get(), memory.size(), location).ok());
  EXPECT_TRUE(check_range(memory.bytes() + location.bytes - 1, 1, location).ok());
  const Status status = check_range(memory.bytes() + 4096, location.bytes, location);
  EXPECT_EQ(status.errc(), Errc::kBuffer);
  const std::string text = take_detail();
  char pointer[32];
  std::snprintf(pointer, sizeof pointer, "%p", static_cast<void*>(memory.bytes() + 4096));
  EXPECT_NE(text.find(pointer), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(location.bytes)), std::string::npos) << text;
  EXPECT_NE(text.find("device 0"), std::string::npos) << text;
}

TEST_F(Classify, RangeOverSeveralMappings) {
  DeviceMemory memory(std::size_t{9} << 20, MemoryKind::kVmm);  // several physical chunks with both drivers
  const Location location = where(memory.get());
  EXPECT_TRUE(check_range(memory.get(), memory.size(), location).ok()) << take_detail();
  EXPECT_FALSE(check_range(memory.get(), std::size_t{1} << 40, location).ok());
  (void)take_detail();
}

TEST_F(Classify, CpuAccessToDeviceMemoryFaults) {
  DeviceMemory memory(4096, MemoryKind::kDevice);
  volatile char* stray = static_cast<volatile char*>(memory.get());
  EXPECT_DEATH(*stray = 1, "");
}

}  // namespace
}  // namespace hr::mem

// Copies between all kinds of memory.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/knobs.hpp"
#include "main.hpp"
#include "mem/mem.hpp"

namespace hr::mem {
namespace {

using test::DeviceMemory;
using test::MemoryKind;
using Copy = test::GpuTest;

Location where(const void* address) {
  Location location;
  EXPECT_TRUE(classify(address, &location).ok()) << take_detail();
  return location;
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned salt) {
  std::vector<std::byte> content(bytes);
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>((i * 131 + salt * 17 + i / 251) & 255);
  return content;
}

// Copies from the middle of `from` to the middle of `to`, and checks every byte.
void check_copy(DeviceMemory& to, DeviceMemory& from, std::size_t bytes, std::size_t to_offset,
                std::size_t from_offset) {
  const std::vector<std::byte> source = pattern(from.size(), 1);
  std::vector<std::byte> expected = pattern(to.size(), 2);
  from.write(source);
  to.write(expected);
  const Status status =
      copy(to.bytes() + to_offset, where(to.get()), from.bytes() + from_offset, where(from.get()), bytes);
  ASSERT_TRUE(status.ok()) << take_detail();
  std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from_offset), bytes,
              expected.begin() + static_cast<std::ptrdiff_t>(to_offset));
  EXPECT_TRUE(to.read() == expected);
}

TEST_F(Copy, EveryPairOfKinds) {
  for (const MemoryKind from_kind : test::kAllKinds) {
    for (const MemoryKind to_kind : test::kAllKinds) {
      for (const std::size_t bytes : {1, 8, 4096, 300001}) {
        SCOPED_TRACE(::testing::Message() << from_kind << " to " << to_kind << ", " << bytes);
        DeviceMemory from(bytes + 100, from_kind);
        DeviceMemory to(bytes + 64, to_kind);
        check_copy(to, from, bytes, 13, 27);
      }
    }
  }
}

TEST_F(Copy, NothingToCopy) { EXPECT_TRUE(copy(nullptr, Location{}, nullptr, Location{}, 0).ok()); }

TEST_F(Copy, BetweenDevices) {
  if (gpu::device_count() < 2) GTEST_SKIP() << "one device";
  ASSERT_TRUE(set_knob("device_staging_bytes", "1M"));
  for (const MemoryKind from_kind : test::kDeviceKinds) {
    for (const MemoryKind to_kind : test::kDeviceKinds) {
      SCOPED_TRACE(::testing::Message() << from_kind << " to " << to_kind);
      const std::size_t bytes = std::size_t{3} << 20;  // several staging pieces
      DeviceMemory from(bytes, from_kind, 0);
      DeviceMemory to(bytes, to_kind, 1);
      check_copy(to, from, bytes - 3, 3, 1);
      check_copy(from, to, bytes - 3, 0, 2);
    }
  }
}

TEST_F(Copy, FromAThreadThatNeverTouchedCuda) {
  DeviceMemory from(5000, MemoryKind::kDevice);
  DeviceMemory to(5000, MemoryKind::kHost);
  from.write(pattern(5000, 7));
  std::thread([&] {
    ASSERT_TRUE(copy(to.get(), where(to.get()), from.get(), where(from.get()), 5000).ok()) << take_detail();
  }).join();
  EXPECT_TRUE(to.read() == pattern(5000, 7));
}

TEST_F(Copy, LeavesTheCallersContextCurrent) {
  if (gpu::device_count() < 2) GTEST_SKIP() << "one device";
  DeviceMemory other(4096, MemoryKind::kDevice, 1);
  std::vector<std::byte> host(4096);
  ASSERT_TRUE(copy(host.data(), Location{}, other.get(), where(other.get()), 4096).ok()) << take_detail();
  void* mine = gpu::allocate(4096);  // allocated on device 0, which is still selected
  EXPECT_EQ(where(mine).device, 0);
  gpu::free(mine);
}

TEST_F(Copy, ComesAfterWorkOnTheDefaultStream) {
  const std::size_t bytes = std::size_t{8} << 20;
  DeviceMemory stage(bytes, MemoryKind::kHostRegistered);
  DeviceMemory device(bytes, MemoryKind::kDevice);
  DeviceMemory host(bytes, MemoryKind::kHost);
  stage.write(pattern(bytes, 9));
  gpu::fill(device.get(), 0, bytes);
  gpu::copy_async(device.get(), stage.get(), bytes, gpu::kDefaultStream);  // not waited for
  ASSERT_TRUE(copy(host.get(), Location{}, device.get(), where(device.get()), bytes).ok()) << take_detail();
  EXPECT_TRUE(host.read() == pattern(bytes, 9));
}

TEST_F(Copy, ManagedMemoryComesAfterWorkOnTheDefaultStream) {
  const std::size_t bytes = std::size_t{8} << 20;
  DeviceMemory device(bytes, MemoryKind::kDevice);
  DeviceMemory managed(bytes, MemoryKind::kManaged);
  device.write(pattern(bytes, 5));
  managed.write(pattern(bytes, 6));  // on the host until the copy is complete
  gpu::copy_async(managed.get(), device.get(), bytes, gpu::kDefaultStream);
  // The memory may now be on either side.
  DeviceMemory host(bytes, MemoryKind::kHost);
  ASSERT_TRUE(copy(host.get(), Location{}, managed.get(), where(managed.get()), bytes).ok()) << take_detail();
  EXPECT_TRUE(host.read() == pattern(bytes, 5));
}

TEST_F(Copy, FailureNamesCallPointerDeviceAndError) {
  // The address is far beyond the end of the allocation (in the library, check_range() refuses such a buffer earlier).
  DeviceMemory memory(1 << 20, MemoryKind::kDevice);
  DeviceMemory target(1 << 20, MemoryKind::kDevice);
  const std::size_t bytes = std::size_t{1} << 40;
  const Status status = copy(target.get(), where(target.get()), memory.get(), where(memory.get()), bytes);
  ASSERT_EQ(status.errc(), Errc::kOther);
  const std::string text = take_detail();
  char pointer[32];
  std::snprintf(pointer, sizeof pointer, "%p", memory.get());
  for (const char* part : {"cuMemcpyAsync", "device 0", "CUDA_ERROR_INVALID_VALUE", "1099511627776 bytes",
                           static_cast<const char*>(pointer)}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
  }
}

}  // namespace
}  // namespace hr::mem

// The short path of host memory in programs that use CUDA. Buffers take this path if their address alone shows that
// they are host memory; no other buffers do.
#include <gtest/gtest.h>

#include <vector>

#include "base/abi.hpp"
#include "layout/op.hpp"
#include "layout/view.hpp"
#include "main.hpp"

namespace hr::layout::test {
namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using ContiguousHost = hr::test::GpuTest;

std::byte own_data[64];

// Returns false if make_view() has to query the driver, or rejects the buffer.
bool is_host(const void* buffer, Count count) {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  EXPECT_FALSE(find_contiguous_without_driver(buffer, count, *predefined_type(abi::kByte), &data, &bytes))
      << "there is a driver";
  return count != 0 && is_host_by_address(buffer);
}

TEST_F(ContiguousHost, OfTheHeapTheStackAndTheProgramsData) {
  std::byte stack[64];
  std::vector<std::byte> heap(64);
  EXPECT_TRUE(is_host(stack, 64));
#ifndef __SANITIZE_ADDRESS__  // its heap is not the system's
  EXPECT_TRUE(is_host(heap.data(), 64));
#endif
  EXPECT_TRUE(is_host(own_data, 64));
  EXPECT_FALSE(is_host(nullptr, 64));
  EXPECT_FALSE(is_host(stack, 0));
}

TEST_F(ContiguousHost, OfNothingThatADeviceKnows) {
  for (const MemoryKind kind : hr::test::kAllKinds) {
    if (kind == MemoryKind::kHost || kind == MemoryKind::kHostRegistered) continue;
    SCOPED_TRACE(kind);
    const DeviceMemory memory(100000, kind);
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{99999}})
      EXPECT_FALSE(is_host(memory.bytes() + offset, 1));
    View view;
    ASSERT_TRUE(make_view(memory.bytes(), 100000, *predefined_type(abi::kByte), &view).ok());
    EXPECT_FALSE(view.is_unknown_to_driver());
  }
}

int looked_at = 0;

// If a checker inspects every buffer, it must also see buffers that would take the short path.
TEST_F(ContiguousHost, NotWhereEveryBufferIsLookedAt) {
  view_checker = [](const View&) { ++looked_at; };
  EXPECT_FALSE(is_host(own_data, 64));
  View view;
  EXPECT_TRUE(make_view(own_data, 64, *predefined_type(abi::kByte), &view).ok());
  EXPECT_EQ(looked_at, 1);
  view_checker = nullptr;
}

}  // namespace
}  // namespace hr::layout::test

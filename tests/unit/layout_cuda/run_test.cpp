// The short path of host memory in programs that use CUDA: only host memory takes it, and memory that its address alone
// identifies as host memory does.
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
using HostRun = hr::test::GpuTest;

std::byte own_data[64];

// False: make_view() has to ask the driver, or rejects the run.
bool runs(const void* buffer, Count count) {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  EXPECT_FALSE(make_run(buffer, count, *predefined_type(abi::kByte), &data, &bytes)) << "there is a driver";
  return count != 0 && surely_host(buffer);
}

TEST_F(HostRun, OfTheHeapTheStackAndTheProgramsData) {
  std::byte stack[64];
  std::vector<std::byte> heap(64);
  EXPECT_TRUE(runs(stack, 64));
#ifndef __SANITIZE_ADDRESS__  // whose heap is not the system's
  EXPECT_TRUE(runs(heap.data(), 64));
#endif
  EXPECT_TRUE(runs(own_data, 64));
  EXPECT_FALSE(runs(nullptr, 64));
  EXPECT_FALSE(runs(stack, 0));
}

TEST_F(HostRun, OfNothingThatADeviceKnows) {
  for (const MemoryKind kind : hr::test::kAllKinds) {
    if (kind == MemoryKind::kHost || kind == MemoryKind::kHostRegistered) continue;
    SCOPED_TRACE(kind);
    const DeviceMemory memory(100000, kind);
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{99999}})
      EXPECT_FALSE(runs(memory.bytes() + offset, 1));
    View view;
    ASSERT_TRUE(make_view(memory.bytes(), 100000, *predefined_type(abi::kByte), &view).ok());
    EXPECT_FALSE(view.is_run());
  }
}

int looked_at = 0;

// A check of every buffer sees those, too.
TEST_F(HostRun, NotWhereEveryBufferIsLookedAt) {
  view_checker = [](const View&) { ++looked_at; };
  EXPECT_FALSE(runs(own_data, 64));
  View view;
  EXPECT_TRUE(make_view(own_data, 64, *predefined_type(abi::kByte), &view).ok());
  EXPECT_EQ(looked_at, 1);
  view_checker = nullptr;
}

}  // namespace
}  // namespace hr::layout::test

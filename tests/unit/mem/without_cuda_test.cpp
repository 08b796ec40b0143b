// Results of mem without a driver, with the knob off, and before the program has initialised CUDA. Each case runs in a
// separate process (CMakeLists.txt); HR_TEST_EXPECT names it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/knobs.hpp"
#include "device_memory.hpp"
#include "mem/mem.hpp"

namespace hr::mem {
namespace {

std::string expected() {
  const char* text = environment("HR_TEST_EXPECT");
  return text == nullptr ? "" : text;
}

TEST(WithoutCuda, EverythingIsHost) {
  if (expected().empty()) GTEST_SKIP() << "runs in processes of its own";
  int on_stack = 0;
  Location location;
  location.kind = Kind::kDevice;
  ASSERT_TRUE(classify(&on_stack, &location).ok());
  EXPECT_EQ(location.kind, Kind::kHost);
  EXPECT_EQ(location.device, -1);
  EXPECT_EQ(location.bytes, 0u);
  ASSERT_TRUE(classify(nullptr, &location).ok());
  EXPECT_TRUE(location.is_host());

  char from[] = "headrace";
  char to[sizeof from] = {};
  ASSERT_TRUE(copy(to, location, from, location, sizeof from).ok());
  EXPECT_STREQ(to, from);
  shutdown();
}

TEST(WithoutCuda, AvailabilityIsReported) {
  if (expected().empty()) GTEST_SKIP() << "runs in processes of its own";
  EXPECT_EQ(device_available(), expected() == "before_init");
}

TEST(WithoutCuda, KnobOffTakesDevicePointersForHost) {
  if (expected() != "knob_off") GTEST_SKIP() << "runs in a process of its own";
  gpu::select(0);
  test::DeviceMemory memory(4096, test::MemoryKind::kDevice);
  Location location;
  ASSERT_TRUE(classify(memory.get(), &location).ok());
  EXPECT_TRUE(location.is_host());
}

TEST(WithoutCuda, ClassificationBeginsWithInitialisation) {
  if (expected() != "before_init") GTEST_SKIP() << "runs in a process of its own";
  Location location;
  ASSERT_TRUE(classify(&location, &location).ok());
  gpu::select(0);  // the program initialises CUDA after the library's first check
  test::DeviceMemory memory(4096, test::MemoryKind::kDevice);
  ASSERT_TRUE(classify(memory.get(), &location).ok());
  EXPECT_TRUE(location.is_device());
}

}  // namespace
}  // namespace hr::mem

// The main() of GPU test programs: prints the device on which they run, and skips the tests that need a device if there
// is none.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

#include "device_memory.hpp"

namespace hr::test {

// Base of fixtures that need a device; device 0 is selected.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::available()) GTEST_SKIP() << "no GPU";
    gpu::select(0);
  }
};

inline int run_gpu_tests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  return RUN_ALL_TESTS();
}

}  // namespace hr::test

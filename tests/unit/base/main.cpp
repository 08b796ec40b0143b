#include <gtest/gtest.h>

#include "test_environment.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  hr::prepare_knob_environment();
  return RUN_ALL_TESTS();
}

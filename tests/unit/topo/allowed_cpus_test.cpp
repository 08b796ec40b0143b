#include "topo/allowed_cpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hr::topo {
namespace {

TEST(AllowedCpus, AreThoseOfTheProcess) {
  const CpuSet cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
}

}  // namespace
}  // namespace hr::topo

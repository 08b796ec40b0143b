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

TEST(AllowedCpus, AListIsRead) {
  EXPECT_EQ(cpus_listed("\t0-2,8,10-11\n"), (CpuSet{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(cpus_listed("5"), CpuSet{5});
  EXPECT_TRUE(cpus_listed("").empty());
  EXPECT_TRUE(cpus_listed("none").empty());
}

TEST(AllowedCpus, AThreadMovesToOthers) {
  const CpuSet before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  ASSERT_TRUE(use_cpus({before.back()}));
  EXPECT_EQ(allowed_cpus(), CpuSet{before.back()});
  ASSERT_TRUE(use_cpus(before));
  EXPECT_EQ(allowed_cpus(), before);
  EXPECT_FALSE(use_cpus({}));
}

}  // namespace
}  // namespace hr::topo

#include "topo/neighbourhood.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hr::topo {
namespace {

namespace fs = std::filesystem;

// A machine as its operating system tells it: two memories of four CPUs, last caches of two.
class NeighbourhoodTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "headrace-topo.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    system_ = name;
    for (unsigned cpu = 0; cpu < 8; ++cpu) {
      const std::string directory = system_ + "/cpu/cpu" + std::to_string(cpu);
      write(directory + "/cache/index0/shared_cpu_list", std::to_string(cpu));
      write(directory + "/cache/index1/shared_cpu_list", std::to_string(cpu));
      const unsigned first = cpu / 2 * 2;
      write(directory + "/cache/index2/shared_cpu_list", std::to_string(first) + "-" + std::to_string(first + 1));
      fs::create_directories(directory + "/node" + std::to_string(cpu / 4));
      fs::create_directories(directory + "/nodes_are_no_memory");
    }
    write(system_ + "/node/node0/cpulist", "0-3");
    write(system_ + "/node/node1/cpulist", "4,5-7");
  }
  void TearDown() override { fs::remove_all(system_); }

  static void write(const std::string& path, const std::string& line) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << line << '\n';
  }
  [[nodiscard]] Neighbourhood of(const CpuSet& cpus) const { return neighbourhood_of(cpus, system_); }

  std::string system_;
};

TEST_F(NeighbourhoodTest, OneCpuHasBoth) {
  EXPECT_EQ(of({0}), (Neighbourhood{0, 0}));
  EXPECT_EQ(of({3}), (Neighbourhood{0, 2}));
  EXPECT_EQ(of({7}), (Neighbourhood{1, 6}));
}

TEST_F(NeighbourhoodTest, SeveralCpusHaveWhatAllOfThemShare) {
  EXPECT_EQ(of({4, 5}), (Neighbourhood{1, 4}));
  EXPECT_EQ(of({5, 6}), (Neighbourhood{1, Neighbourhood::kUnknown}));
  EXPECT_EQ(of({3, 4}), Neighbourhood());
}

TEST_F(NeighbourhoodTest, WhatIsNotToldIsUnknown) {
  EXPECT_EQ(of({}), Neighbourhood());
  EXPECT_EQ(of({8}), Neighbourhood());
  EXPECT_EQ(neighbourhood_of({0}, system_ + "/nowhere"), Neighbourhood());
  write(system_ + "/node/node0/cpulist", "0-");
  write(system_ + "/cpu/cpu0/cache/index2/shared_cpu_list", "-,");
  EXPECT_EQ(of({0}), (Neighbourhood{Neighbourhood::kUnknown, 0}));  // the cache before, which is its own
}

TEST(AllowedCpus, AreThoseOfTheProcess) {
  const CpuSet cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
}

}  // namespace
}  // namespace hr::topo

#include "topo/machine.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "machines.hpp"

namespace hr::topo {
namespace {

TEST(Machine, LevelsOfADescribedOne) {
  const Machine& machine = big();
  EXPECT_EQ(machine.parts(Level::kSocket).size(), 2u);
  EXPECT_EQ(machine.parts(Level::kNuma).size(), 8u);
  EXPECT_EQ(machine.parts(Level::kCache), machine.parts(Level::kL3));
  EXPECT_EQ(machine.parts(Level::kCore).size(), 64u);
  EXPECT_EQ(machine.parts(Level::kThread).size(), 128u);
  EXPECT_EQ(machine.parts(Level::kNuma)[1], cores(8, 15));
  EXPECT_TRUE(machine.parts(Level::kL2).empty()) << "there is none";
  EXPECT_EQ(machine.parts(Level::kMachine), std::vector<CpuSet>{range(0, 127)});
}

TEST(Machine, WhatIsNotAllowedIsNotThere) {
  const Machine machine = synthetic("pack:2 core:2 pu:2", {1, 2, 3});
  EXPECT_EQ(machine.parts(Level::kCore), (std::vector<CpuSet>{{1}, {2, 3}}));
  EXPECT_EQ(machine.parts(Level::kSocket), (std::vector<CpuSet>{{1, 2, 3}}));
  EXPECT_EQ(machine.all(Level::kSocket).size(), 2u) << "the picture shows it all the same";
}

TEST(Machine, UnknownLevelsHaveAMeaning) {
  Machine machine;
  machine.allowed = {0, 1, 5};
  machine.levels[0] = {{0}, {1}, {5}};  // only hardware threads
  EXPECT_EQ(machine.parts(Level::kCore), (std::vector<CpuSet>{{0}, {1}, {5}}));
  EXPECT_EQ(machine.parts(Level::kNuma), (std::vector<CpuSet>{{0, 1, 5}}));
  EXPECT_TRUE(machine.parts(Level::kL3).empty());
}

TEST(Machine, KeptOneHasItsDevices) {
  const Machine machine = kept("two_sockets_four_gpus");
  ASSERT_EQ(machine.devices.size(), 9u) << "the display chip of the management is no GPU";
  const Device& gpu = machine.devices[0];
  EXPECT_EQ(gpu.name, "cuda0");
  EXPECT_EQ(gpu.address, "0000:13:00.0");
  EXPECT_EQ(gpu.cpus, range(0, 7));
  EXPECT_EQ(gpu.bridges.size(), 2u);
  const Device& card = machine.devices[1];
  EXPECT_EQ(card.name, "mlx5_0") << "InfiniBand's name, not the network's over it";
  EXPECT_TRUE(card.is_fast_network);
}

TEST(Machine, OneWithRealGpus) {
  const Machine machine = kept("two_h100");
  ASSERT_EQ(machine.devices.size(), 3u);
  EXPECT_EQ(machine.devices[0].name, "eth0");
  EXPECT_EQ(machine.devices[1].kind, Device::Kind::kGpu);
  EXPECT_EQ(machine.devices[1].name, "0000:00:06.0") << "nobody has a name for it";
  EXPECT_EQ(machine.parts(Level::kCore).size(), 32u);
}

std::string refusal(const std::string& source, const CpuSet& only = {}) {
  Needs needs;
  needs.only = only;
  Machine machine;
  EXPECT_FALSE(read_machine(source, needs, &machine).ok());
  return take_detail();
}

TEST(Machine, BadSourcesSayWhatTheyAre) {
  EXPECT_NE(refusal("synthetic:pakk:2").find("synthetic:pakk:2"), std::string::npos);
  EXPECT_NE(refusal("/no/such/file.xml").find("/no/such/file.xml: No such file"), std::string::npos);
  const std::string path = testing::TempDir() + "no_machine.xml";
  std::ofstream(path) << "<nothing/>";
  const std::string text = refusal(path);
  EXPECT_NE(text.find(path), std::string::npos) << text;
  std::remove(path.c_str());
  EXPECT_NE(refusal("synthetic:core:2 pu:1", {1, 7}).find("no CPU 7"), std::string::npos);
}

TEST(Machine, ThisOneStaysWithinTheProcessAffinity) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  const Machine whole = machine_from("");
  std::set<unsigned> seen;
  for (const CpuSet& core : whole.parts(Level::kCore)) {
    for (const unsigned cpu : core) {
      EXPECT_TRUE(CPU_ISSET(cpu, &before)) << cpu;
      EXPECT_TRUE(seen.insert(cpu).second) << "a CPU is of one core only";
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
  for (const Level level : {Level::kNuma, Level::kSocket, Level::kMachine}) {
    EXPECT_EQ(united(whole.parts(level)), whole.allowed) << name_of(level);
  }

  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(machine_from("").parts(Level::kCore), (std::vector<CpuSet>{{static_cast<unsigned>(first)}}));
  ::sched_setaffinity(0, sizeof before, &before);
}

TEST(Machine, WrittenDownItIsTheSame) {
  const std::string path = testing::TempDir() + "this_machine.xml";
  ASSERT_TRUE(write_machine(path).ok()) << take_detail();
  const Machine here = machine_from(""), read = machine_from(path);
  for (const Level level : kAllLevels) EXPECT_EQ(here.all(level), read.all(level)) << name_of(level);
  EXPECT_EQ(here.devices.size(), read.devices.size());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hr::topo

#include "topo/devices.hpp"

#include <gtest/gtest.h>

#include "machines.hpp"
#include "topo/picture.hpp"

namespace hr::topo {
namespace {

const Machine& four_gpus() {
  static const Machine machine = kept("two_sockets_four_gpus");
  return machine;
}

const Device& named(const std::string& name) {
  for (const Device& device : four_gpus().devices) {
    if (device.name == name) return device;
  }
  ADD_FAILURE() << name;
  return four_gpus().devices[0];
}

TEST(Distance, FollowsTheTree) {
  const Machine& machine = four_gpus();
  EXPECT_EQ(distance(machine, named("cuda0"), named("mlx5_0")), Distance::kSwitch);
  EXPECT_EQ(distance(machine, named("cuda0"), named("eno1")), Distance::kHostBridge);
  EXPECT_EQ(distance(machine, named("cuda0"), named("mlx5_1")), Distance::kSocket);
  EXPECT_EQ(distance(machine, named("cuda0"), named("cuda3")), Distance::kMachine);
  EXPECT_EQ(distance(machine, CpuSet{1}, named("cuda0")), Distance::kNuma);
  EXPECT_EQ(distance(machine, range(0, 15), named("cuda0")), Distance::kSocket)
      << "half of these cores are in another domain";
  EXPECT_EQ(distance(machine, CpuSet{31}, named("cuda0")), Distance::kMachine);
  EXPECT_EQ(distance(machine, CpuSet{}, named("cuda0")), Distance::kMachine);
}

std::vector<std::string> names(const std::vector<CpuSet>& placement) {
  std::vector<std::string> all;
  for (const Nearest& nearest : nearest_devices(four_gpus(), placement)) {
    all.push_back((nearest.gpu != nullptr ? nearest.gpu->name : "-") + " " +
                  (nearest.nic != nullptr ? nearest.nic->name : "-"));
  }
  return all;
}

using Names = std::vector<std::string>;

TEST(Nearest, OneOfTheRanksDomain) {
  EXPECT_EQ(names({{0}, {8}, {16}, {24}}), (Names{"cuda0 mlx5_0", "cuda1 mlx5_1", "cuda2 mlx5_2", "cuda3 mlx5_3"}));
  EXPECT_EQ(names({{0}, {1}}), (Names{"cuda0 mlx5_0", "cuda0 mlx5_0"})) << "there is one in this domain";
}

TEST(Nearest, EquallyNearOnesInTurnAndTheCardOfTheGpu) {
  EXPECT_EQ(names({range(16, 31), range(16, 31), range(16, 31)}),
            (Names{"cuda2 mlx5_2", "cuda3 mlx5_3", "cuda2 mlx5_2"}));
}

// Ranks on consecutive caches get the two devices of one MI250X after another, in the order of the domains.
TEST(Nearest, DevicesOfMi250x) {
  const Machine machine = kept("four_mi250x");
  const std::vector<CpuSet> caches = machine.parts(Level::kL3);
  ASSERT_EQ(caches.size(), 8u);
  Names all;
  for (const Nearest& nearest : nearest_devices(machine, caches)) {
    ASSERT_NE(nearest.gpu, nullptr);
    ASSERT_NE(nearest.nic, nullptr);
    EXPECT_EQ(nearest.gpu_distance, Distance::kNuma);
    EXPECT_EQ(distance(machine, *nearest.gpu, *nearest.nic), Distance::kHostBridge);
    all.push_back(nearest.gpu->name + " " + nearest.nic->name);
  }
  EXPECT_EQ(all, (Names{"rsmi4 hsn0", "rsmi5 hsn0", "rsmi2 hsn1", "rsmi3 hsn1", "rsmi6 hsn2", "rsmi7 hsn2",
                        "rsmi0 hsn3", "rsmi1 hsn3"}));
}

TEST(Nearest, NobodyWhoIsNotBound) { EXPECT_EQ(names({{}, {24}}), (Names{"- -", "cuda3 mlx5_3"})); }

TEST(Nearest, EthernetWhereThereIsNothingFaster) {
  const Machine machine = kept("two_h100");
  const std::vector<Nearest> nearest = nearest_devices(machine, {{0}, {1}, {2}});
  EXPECT_EQ(nearest[0].gpu->address, "0000:00:06.0");
  EXPECT_EQ(nearest[1].gpu->address, "0000:00:07.0");
  EXPECT_EQ(nearest[2].gpu->address, "0000:00:06.0");
  EXPECT_EQ(nearest[1].nic->name, "eth0");
}

TEST(Nearest, NothingOnAMachineWithoutDevices) {
  const Machine machine = synthetic("core:2 pu:1");
  const std::vector<Nearest> nearest = nearest_devices(machine, {{0}});
  EXPECT_EQ(nearest[0].gpu, nullptr);
  EXPECT_EQ(nearest[0].nic, nullptr);
}

TEST(Picture, OfAMachineWithGpus) {
  EXPECT_EQ(picture(four_gpus(), std::vector<int>{4, 5, 7}, {{0, 1}, {2}, {16, 17}}),
            "two_sockets_four_gpus: 2 sockets, 4 NUMA domains, 16 cores, 32 hardware threads\n"
            "  socket 0 NUMA 0  [  4 5/.] [  .   .]\n"
            "                   GPU cuda0 (0000:13:00.0), NIC mlx5_0 (0000:14:00.0), NIC eno1 (0000:19:00.0)\n"
            "  socket 0 NUMA 1  [  .   .] [  .   .]\n"
            "                   GPU cuda1 (0000:43:00.0), NIC mlx5_1 (0000:44:00.0)\n"
            "  socket 1 NUMA 2  [  7   .] [  .   .]\n"
            "                   GPU cuda2 (0000:73:00.0), NIC mlx5_2 (0000:74:00.0)\n"
            "  socket 1 NUMA 3  [  .   .] [  .   .]\n"
            "                   GPU cuda3 (0000:a3:00.0), NIC mlx5_3 (0000:a4:00.0)\n"
            "  GPU cuda0 (0000:13:00.0) to NICs: same PCI switch: mlx5_0; same PCI host bridge: eno1; same socket: "
            "mlx5_1; across "
            "sockets: mlx5_2, mlx5_3\n"
            "  GPU cuda1 (0000:43:00.0) to NICs: same PCI switch: mlx5_1; same socket: mlx5_0, eno1; across sockets: "
            "mlx5_2, mlx5_3\n"
            "  GPU cuda2 (0000:73:00.0) to NICs: same PCI switch: mlx5_2; same socket: mlx5_3; across sockets: mlx5_0, "
            "eno1, mlx5_1\n"
            "  GPU cuda3 (0000:a3:00.0) to NICs: same PCI switch: mlx5_3; same socket: mlx5_2; across sockets: mlx5_0, "
            "eno1, mlx5_1\n"
            "  numbers are ranks on cores; . no rank; [ ] one L3 cache of 16 MiB\n");
}

TEST(Picture, RanksThatShareAndCpusThatAreNotOurs) {
  const Machine machine = synthetic("pack:1 core:3 pu:1", {0, 1});
  EXPECT_EQ(picture(machine, std::vector<int>{0, 1, 2, 3}, {{0}, {0}, {0}, {1}}),
            "synthetic: 1 socket, 1 NUMA domain, 3 cores\n"
            "  socket 0 NUMA 0  0-2   3   -\n"
            "  numbers are ranks on cores; . no rank; - not to be used\n");
}

// No line is much longer than a terminal's width.
TEST(Picture, LongRowsAreBroken) {
  const Machine machine = synthetic("pack:2 l3:16 core:8 pu:2");
  const std::string text = picture(machine, {}, {});
  std::size_t longest = 0, from = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n') continue;
    longest = std::max(longest, at - from);
    from = at + 1;
  }
  EXPECT_LE(longest, 100u) << text;
}

}  // namespace
}  // namespace hr::topo

// The GPU and the network card nearest to a rank's cores, and distances within a machine. Pure.
#pragma once

#include <vector>

#include "topo/machine.hpp"

namespace hr::topo {

// Distance from a device to CPUs or to another device: the smallest part of the machine that contains both ends.
// Smaller values are nearer.
enum class Distance {
  kSwitch,      // a PCI switch
  kHostBridge,  // the root of a PCI tree
  kNuma,        // a NUMA domain
  kSocket,
  kMachine,
};

// Returns, for instance, "same NUMA domain".
const char* text_of(Distance distance) noexcept;

Distance distance(const Machine& machine, const CpuSet& cpus, const Device& device);
Distance distance(const Machine& machine, const Device& one, const Device& other);

struct Nearest {
  const Device* gpu = nullptr;  // part of the given machine; null: there is none, or the rank is not bound
  const Device* nic = nullptr;
  Distance gpu_distance = Distance::kMachine;
  Distance nic_distance = Distance::kMachine;
};

// Returns "; GPU cuda0 (same NUMA domain), NIC mlx5_0 (same socket)"; empty if there are none.
std::string text_of(const Nearest& nearest);

// Finds the nearest devices for each of the sets of CPUs that place() returns. Ranks that are equally near to several
// GPUs get them in turn. Of equally near cards, a rank gets the one nearest to its GPU; if several are, ranks get them
// in turn. If a host has InfiniBand or RoCE, other cards are ignored.
std::vector<Nearest> nearest_devices(const Machine& machine, const std::vector<CpuSet>& placement);

}  // namespace hr::topo

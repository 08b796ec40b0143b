// Which GPU and which network card is nearest to a rank's cores, and how near things are to one another. Pure.
#pragma once

#include <vector>

#include "topo/machine.hpp"

namespace hr::topo {

// What two things share; the smaller, the nearer they are.
enum class Distance {
  kSwitch,      // a PCI switch
  kHostBridge,  // the root of a PCI tree
  kNuma,        // a NUMA domain
  kSocket,
  kMachine,
};

// "same NUMA domain".
const char* text_of(Distance distance) noexcept;

Distance distance(const Machine& machine, const CpuSet& cpus, const Device& device);
Distance distance(const Machine& machine, const Device& one, const Device& other);

struct Nearest {
  const Device* gpu = nullptr;  // part of the machine that was asked; null: there is none, or the rank is not bound
  const Device* nic = nullptr;
  Distance gpu_distance = Distance::kMachine;
  Distance nic_distance = Distance::kMachine;
};

// "; GPU cuda0 (same NUMA domain), NIC mlx5_0 (same socket)"; empty where there are none.
std::string text_of(const Nearest& nearest);

// For each set of CPUs, as place() gives them. Ranks that are equally near to several GPUs get them in turn; of equally
// near cards that which is nearest to the rank's GPU, then in turn. Where a host has InfiniBand or RoCE, other cards
// are left out.
std::vector<Nearest> nearest_devices(const Machine& machine, const std::vector<CpuSet>& placement);

}  // namespace hr::topo

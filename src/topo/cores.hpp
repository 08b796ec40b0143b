// The cores this process may use, and how ranks are placed on them.
//
// Cores come from hwloc, restricted to the CPUs that the process's affinity and cgroup allow; where hwloc cannot tell,
// every allowed CPU counts as a core. Owner: none, plain values. Threads: any.
#pragma once

#include <vector>

namespace hr::topo {

// CPU numbers of the operating system, ascending. Empty: no restriction.
using CpuSet = std::vector<unsigned>;

// One entry a core, with the hardware threads of it that are allowed; in the machine's order (neighbours share caches).
std::vector<CpuSet> allowed_cores();

enum class Binding {
  kShare,  // each rank an equal share of neighbouring cores; nothing when ranks outnumber cores
  kCore,   // each rank one core, in order; ranks that outnumber the cores begin again at the first
  kNone,
};

// One entry a rank. Pure.
std::vector<CpuSet> place_ranks(const std::vector<CpuSet>& cores, int ranks, Binding binding);

}  // namespace hr::topo

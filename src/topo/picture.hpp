// Draws a host and the ranks on it as text. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topo/machine.hpp"

namespace hr::topo {

// Returns one line per NUMA domain (more if it is long): its cores in order, each with the rank that is bound to
// it, brackets around cores that share a cache, then its GPUs and network cards; below, the distances of GPUs and
// cards. ranks[i] is the number of the rank that is bound to placement[i]; ranks that are not bound do not appear.
std::string picture(const Machine& machine, std::span<const int> ranks, const std::vector<CpuSet>& placement);

}  // namespace hr::topo

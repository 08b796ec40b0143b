// A picture in text of a host and the ranks on it. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topo/machine.hpp"

namespace hr::topo {

// Returns one line (or more, if it is long) for each NUMA domain: its cores in order, each with the rank that is bound
// there, caches that cores share in brackets, then its GPUs and network cards; below, the distances of GPUs and cards.
// ranks[i] is the number of the rank that is bound to placement[i]; ranks that are not bound do not appear.
std::string picture(const Machine& machine, std::span<const int> ranks, const std::vector<CpuSet>& placement);

}  // namespace hr::topo

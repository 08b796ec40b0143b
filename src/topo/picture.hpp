// Draws a host and the ranks on it as text. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topo/machine.hpp"

namespace hr::topo {

// Returns one line per NUMA domain, or several if it is long. The line shows the domain's cores in order, each with the
// rank that is bound to it and brackets around cores that share a cache, then the domain's GPUs and network cards.
// Below follow the distances between GPUs and cards. ranks[i] is the number of the rank that is bound to placement[i];
// ranks that are not bound do not appear.
std::string picture(const Machine& machine, std::span<const int> ranks, const std::vector<CpuSet>& placement);

}  // namespace hr::topo

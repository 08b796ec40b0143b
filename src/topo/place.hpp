// Binds the ranks of one host to CPUs. Pure.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "topo/machine.hpp"
#include "topo/mapping.hpp"

namespace hr::topo {

// Sets (*cpus)[local rank], the CPUs to which the rank is bound; empty: not bound. Fails if this machine does not have
// the parts that the mapping names, if they are too small, or if ranks would share cores and the mapping forbids that.
Status place(const Machine& machine, int ranks, const Mapping& mapping, std::vector<CpuSet>* cpus);

}  // namespace hr::topo

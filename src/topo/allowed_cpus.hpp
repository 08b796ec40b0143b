// What a process shares with its neighbours of the node: the last cache of the cores that it may run on, and their
// memory (NUMA domain). For trees of collectives, which cross slow links once.
//
// Read from the operating system's own files, a few lines of one CPU: hwloc, which places the ranks (cores.hpp), looks
// at every CPU of the machine, which is too much for each process of a job to do. Owner: none, plain values. Threads:
// any.
#pragma once

#include <string>

#include "topo/cores.hpp"

namespace hr::topo {

// Alike in two processes of a node when they share it.
struct Neighbourhood {
  static constexpr int kUnknown = -1;  // or several of them: the process is not bound to one
  int memory = kUnknown;               // number of the NUMA domain
  int cache = kUnknown;                // first CPU of those that share the last cache
  [[nodiscard]] bool operator==(const Neighbourhood&) const = default;
};

// Of a process that may run on these CPUs. `system`: where the operating system tells it.
[[nodiscard]] Neighbourhood neighbourhood_of(const CpuSet& cpus, const std::string& system = "/sys/devices/system");

// The CPUs that this process may run on; empty when that cannot be asked.
[[nodiscard]] CpuSet allowed_cpus();

}  // namespace hr::topo

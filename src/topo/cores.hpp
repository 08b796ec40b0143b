// The cores this process may use, and how ranks are placed on them: the launcher's part of the machine's structure.
//
// Cores come from hwloc, restricted to the CPUs that the process's affinity and cgroup allow; where hwloc cannot tell,
// every allowed CPU counts as a core. Owner: none, plain values. Threads: any.
#pragma once

#include <vector>

namespace hr::topo {

// CPU numbers of the operating system, ascending. Empty: no restriction.
using CpuSet = std::vector<unsigned>;

enum class Level { kThread, kCore, kNuma, kSocket };

// One entry for each part of the machine on this level, with the CPUs of it that are allowed; parts without any are
// left out. In the machine's order (neighbours share caches).
std::vector<CpuSet> allowed(Level level);
inline std::vector<CpuSet> allowed_cores() { return allowed(Level::kCore); }

enum class Binding {
  kShare,   // each rank an equal share of neighbouring places; nothing when ranks outnumber them
  kThread,  // each rank one hardware thread, in order; ranks that outnumber the places begin again at the first
  kCore,    // or one core
  kNuma,    // or the memory domain of that core
  kSocket,  // or its socket
  kNone,
};

// How ranks are placed.
struct Placing {
  Binding binding = Binding::kShare;
  bool is_round_robin = false;  // ranks go round the parts of this level (--map-by socket)
  Level round_robin_level = Level::kCore;
  bool in_order = false;  // place after place, whatever they are bound to (--map-by slot)
  int each = 1;           // ranks that follow one another within a part
  bool threads = false;   // a place is a hardware thread, not a core
};

// One entry a rank, on this machine.
std::vector<CpuSet> place_here(Placing placing, int ranks);

// The parts of it. Pure.
// One entry a rank: a share of the places (kShare), nothing (kNone), or one place each (all others).
std::vector<CpuSet> place_ranks(const std::vector<CpuSet>& places, int ranks, Binding binding);
// The places, each once, in the order in which one takes `each` of the first part, then of the second, and round again.
std::vector<CpuSet> round_robin(const std::vector<CpuSet>& places, const std::vector<CpuSet>& parts, int each);
// Each entry becomes the part that holds it; one that no part holds stays.
std::vector<CpuSet> widened(std::vector<CpuSet> placement, const std::vector<CpuSet>& parts);

}  // namespace hr::topo

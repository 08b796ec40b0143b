#include "topo/cores.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>

namespace hr::topo {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

Bitmap make_bitmap() { return Bitmap(hwloc_bitmap_alloc(), &hwloc_bitmap_free); }

CpuSet numbers_of(const hwloc_bitmap_s* bitmap) {
  CpuSet numbers;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu)) {
    numbers.push_back(static_cast<unsigned>(cpu));
  }
  return numbers;
}

Topology load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Topology(nullptr, &hwloc_topology_destroy);
  Topology topology(raw, &hwloc_topology_destroy);
  // Cores and hardware threads are all we ask for: everything else only costs start-up time.
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) topology.reset();
  return topology;
}

}  // namespace

std::vector<CpuSet> allowed_cores() {
  std::vector<CpuSet> cores;
  const Topology topology = load();
  if (topology == nullptr) return cores;

  const Bitmap allowed = make_bitmap();
  if (hwloc_get_cpubind(topology.get(), allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  }
  const hwloc_obj_type_t type =
      hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const Bitmap part = make_bitmap();
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology.get(), type, core)) != nullptr;) {
    hwloc_bitmap_and(part.get(), core->cpuset, allowed.get());
    if (!hwloc_bitmap_iszero(part.get())) cores.push_back(numbers_of(part.get()));
  }
  return cores;
}

std::vector<CpuSet> place_ranks(const std::vector<CpuSet>& cores, int ranks, Binding binding) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<CpuSet> placement(count);
  if (binding == Binding::kNone || cores.empty()) return placement;
  if (binding == Binding::kShare && count > cores.size()) return placement;
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::size_t first = rank % cores.size();
    std::size_t last = first + 1;
    if (binding == Binding::kShare) {
      first = rank * cores.size() / count;
      last = (rank + 1) * cores.size() / count;
    }
    for (; first < last; ++first)
      placement[rank].insert(placement[rank].end(), cores[first].begin(), cores[first].end());
    std::sort(placement[rank].begin(), placement[rank].end());
  }
  return placement;
}

}  // namespace hr::topo

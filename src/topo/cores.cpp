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

hwloc_obj_type_t type_of(Level level) {
  switch (level) {
    case Level::kThread:
      return HWLOC_OBJ_PU;
    case Level::kNuma:
      return HWLOC_OBJ_NUMANODE;
    case Level::kSocket:
      return HWLOC_OBJ_PACKAGE;
    case Level::kCore:
      break;
  }
  return HWLOC_OBJ_CORE;
}

Binding binding_to(Level level) {
  switch (level) {
    case Level::kThread:
      return Binding::kThread;
    case Level::kNuma:
      return Binding::kNuma;
    case Level::kSocket:
      return Binding::kSocket;
    case Level::kCore:
      break;
  }
  return Binding::kCore;
}

bool holds(const CpuSet& whole, const CpuSet& part) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

Topology load(hwloc_obj_type_t type) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Topology(nullptr, &hwloc_topology_destroy);
  Topology topology(raw, &hwloc_topology_destroy);
  // What is not asked for only costs start-up time. Hardware threads and memories are always there.
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  // Without them a memory whose CPUs are no other part of the machine would be told as its parent's.
  if (type == HWLOC_OBJ_NUMANODE) {
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  }
  if (hwloc_topology_load(raw) != 0) topology.reset();
  return topology;
}

}  // namespace

std::vector<CpuSet> allowed(Level level) {
  std::vector<CpuSet> parts;
  hwloc_obj_type_t type = type_of(level);
  const Topology topology = load(type);
  if (topology == nullptr) return parts;

  const Bitmap cpus = make_bitmap();
  if (hwloc_get_cpubind(topology.get(), cpus.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(cpus.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  }
  if (hwloc_get_nbobjs_by_type(topology.get(), type) <= 0) {
    // Not told: a hardware thread is a core, and the machine is one socket.
    type = level == Level::kCore ? HWLOC_OBJ_PU : HWLOC_OBJ_MACHINE;
  }
  const Bitmap part = make_bitmap();
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology.get(), type, object)) != nullptr;) {
    hwloc_bitmap_and(part.get(), object->cpuset, cpus.get());
    if (!hwloc_bitmap_iszero(part.get())) parts.push_back(numbers_of(part.get()));
  }
  return parts;
}

std::vector<CpuSet> place_ranks(const std::vector<CpuSet>& places, int ranks, Binding binding) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<CpuSet> placement(count);
  if (binding == Binding::kNone || places.empty()) return placement;
  if (binding == Binding::kShare && count > places.size()) return placement;
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::size_t first = rank % places.size();
    std::size_t last = first + 1;
    if (binding == Binding::kShare) {
      first = rank * places.size() / count;
      last = (rank + 1) * places.size() / count;
    }
    for (; first < last; ++first)
      placement[rank].insert(placement[rank].end(), places[first].begin(), places[first].end());
    std::sort(placement[rank].begin(), placement[rank].end());
  }
  return placement;
}

std::vector<CpuSet> round_robin(const std::vector<CpuSet>& places, const std::vector<CpuSet>& parts, int each) {
  std::vector<std::vector<CpuSet>> of_part(parts.size());
  for (const CpuSet& place : places) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (!holds(parts[part], place)) continue;
      of_part[part].push_back(place);
      break;
    }
  }
  std::vector<CpuSet> order;
  const auto step = static_cast<std::size_t>(std::max(each, 1));
  for (std::size_t round = 0, before = 1; before != order.size(); ++round) {
    before = order.size();
    for (const std::vector<CpuSet>& part : of_part) {
      for (std::size_t at = round * step; at < std::min(part.size(), (round + 1) * step); ++at) {
        order.push_back(part[at]);
      }
    }
  }
  return order;
}

std::vector<CpuSet> widened(std::vector<CpuSet> placement, const std::vector<CpuSet>& parts) {
  for (CpuSet& cpus : placement) {
    for (const CpuSet& part : parts) {
      if (cpus.empty() || !holds(part, cpus)) continue;
      cpus = part;
      break;
    }
  }
  return placement;
}

std::vector<CpuSet> place_here(Placing placing, int ranks) {
  Binding binding = placing.binding;
  if (binding == Binding::kNone) return std::vector<CpuSet>(static_cast<std::size_t>(ranks));
  // Ranks that are bound to sockets go round them, unless somebody says otherwise.
  if (!placing.is_round_robin && !placing.in_order && (binding == Binding::kNuma || binding == Binding::kSocket)) {
    placing.is_round_robin = true;
    placing.round_robin_level = binding == Binding::kNuma ? Level::kNuma : Level::kSocket;
  }
  // Ranks that go round sockets are bound to them, unless somebody says otherwise.
  if (binding == Binding::kShare && placing.is_round_robin) binding = binding_to(placing.round_robin_level);
  const bool threads = placing.threads || binding == Binding::kThread ||
                       (placing.is_round_robin && placing.round_robin_level == Level::kThread);
  std::vector<CpuSet> places = allowed(threads ? Level::kThread : Level::kCore);
  if (placing.is_round_robin) places = round_robin(places, allowed(placing.round_robin_level), placing.each);
  std::vector<CpuSet> placement = place_ranks(places, ranks, binding);
  switch (binding) {
    case Binding::kCore:
      return threads ? widened(std::move(placement), allowed(Level::kCore)) : placement;
    case Binding::kNuma:
      return widened(std::move(placement), allowed(Level::kNuma));
    case Binding::kSocket:
      return widened(std::move(placement), allowed(Level::kSocket));
    default:
      return placement;
  }
}

}  // namespace hr::topo

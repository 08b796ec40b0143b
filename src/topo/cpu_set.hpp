// Sets of CPUs. Plain values; threads: any.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

namespace hr::topo {

// CPU numbers of the operating system, ascending. As a rank's binding, an empty set means: not bound.
using CpuSet = std::vector<unsigned>;

inline bool holds(const CpuSet& whole, const CpuSet& part) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

inline CpuSet common(const CpuSet& one, const CpuSet& other) {
  CpuSet both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  return both;
}

inline CpuSet united(const CpuSet& one, const CpuSet& other) {
  CpuSet either;
  std::set_union(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(either));
  return either;
}

// Returns the union of sets in any order.
inline CpuSet united(const std::vector<CpuSet>& sets) {
  CpuSet all;
  for (const CpuSet& each : sets) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace hr::topo

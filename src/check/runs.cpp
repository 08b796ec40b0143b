#include "check/runs.hpp"

#include <algorithm>
#include <span>

#include "layout/canonical.hpp"

namespace hr::check {
namespace {

constexpr Count kMostRuns = Count{1} << 20;

// Joins sorted runs that touch or overlap.
void join_neighbours(std::vector<Run>* runs) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs->size(); ++i) {
    Run& before = (*runs)[last];
    const Run& next = (*runs)[i];
    if (next.begin <= before.end) {
      before.end = std::max(before.end, next.end);
    } else {
      (*runs)[++last] = next;
    }
  }
  if (!runs->empty()) runs->resize(last + 1);
}

}  // namespace

Run span_of(const Region& region) noexcept {
  const layout::Datatype& type = region.type;
  const Count steps = (region.count - 1) * type.extent();
  const Count first = type.true_lb() + std::min<Count>(steps, 0);
  const Count last = type.true_lb() + type.true_extent() + std::max<Count>(steps, 0);
  return {region.address + static_cast<std::uintptr_t>(first), region.address + static_cast<std::uintptr_t>(last)};
}

bool collect_runs(const Region& region, std::vector<Run>* runs) {
  const layout::Layout& layout = region.type.layout();
  if (region.count <= 0 || region.type.size() == 0) return true;
  if (region.type.contiguous(region.count)) {
    runs->push_back(span_of(region));
    return true;
  }
  if (region.count * std::max<Count>(layout.runs, 1) > kMostRuns) return false;
  std::vector<std::uintptr_t> origins;
  for (Count i = 0; i < region.count; ++i)
    origins.push_back(region.address + static_cast<std::uintptr_t>(i * region.type.extent()));
  for (const layout::Dim& dim : std::span(layout.dims).first(static_cast<std::size_t>(layout.ndims))) {
    std::vector<std::uintptr_t> next;
    for (const std::uintptr_t origin : origins) {
      for (Count i = 0; i < dim.count; ++i) next.push_back(origin + static_cast<std::uintptr_t>(i * dim.stride));
    }
    origins.swap(next);
  }
  for (const std::uintptr_t origin : origins) {
    for (const layout::Block& block : layout.blocks) {
      const std::uintptr_t begin = origin + static_cast<std::uintptr_t>(block.offset);
      runs->push_back({begin, begin + static_cast<std::uintptr_t>(block.length)});
    }
  }
  std::ranges::sort(*runs, {}, &Run::begin);
  join_neighbours(runs);
  return true;
}

std::uintptr_t overlap(const Region& a, const Region& b) {
  if (a.count <= 0 || b.count <= 0 || a.type.size() == 0 || b.type.size() == 0) return 0;
  const Run one = span_of(a), other = span_of(b);
  const std::uintptr_t first = std::max(one.begin, other.begin);
  if (first >= std::min(one.end, other.end)) return 0;
  if (a.type.contiguous(a.count) && b.type.contiguous(b.count)) return first;
  std::vector<Run> runs_a, runs_b;
  if (!collect_runs(a, &runs_a) || !collect_runs(b, &runs_b)) return 0;
  for (auto at = runs_a.begin(), other_at = runs_b.begin(); at != runs_a.end() && other_at != runs_b.end();) {
    const std::uintptr_t begin = std::max(at->begin, other_at->begin);
    if (begin < std::min(at->end, other_at->end)) return begin;
    at->end < other_at->end ? ++at : ++other_at;
  }
  return 0;
}

}  // namespace hr::check

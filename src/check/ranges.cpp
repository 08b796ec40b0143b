#include "check/ranges.hpp"

#include <algorithm>
#include <span>

#include "layout/canonical.hpp"

namespace hr::check {
namespace {

constexpr Count kMostRanges = Count{1} << 20;

// Joins sorted ranges that are adjacent or overlap.
void join_neighbours(std::vector<Range>* ranges) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges->size(); ++i) {
    Range& before = (*ranges)[last];
    const Range& next = (*ranges)[i];
    if (next.begin <= before.end) {
      before.end = std::max(before.end, next.end);
    } else {
      (*ranges)[++last] = next;
    }
  }
  if (!ranges->empty()) ranges->resize(last + 1);
}

}  // namespace

Range span_of(const Region& region) noexcept {
  const layout::Datatype& type = region.type;
  const Count steps = (region.count - 1) * type.extent();
  const Count first = type.true_lb() + std::min<Count>(steps, 0);
  const Count last = type.true_lb() + type.true_extent() + std::max<Count>(steps, 0);
  return {region.address + static_cast<std::uintptr_t>(first), region.address + static_cast<std::uintptr_t>(last)};
}

bool collect_ranges(const Region& region, std::vector<Range>* ranges) {
  const layout::Layout& layout = region.type.layout();
  if (region.count <= 0 || region.type.size() == 0) return true;
  if (region.type.contiguous(region.count)) {
    ranges->push_back(span_of(region));
    return true;
  }
  if (region.count * std::max<Count>(layout.runs, 1) > kMostRanges) return false;
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
      ranges->push_back({begin, begin + static_cast<std::uintptr_t>(block.length)});
    }
  }
  std::ranges::sort(*ranges, {}, &Range::begin);
  join_neighbours(ranges);
  return true;
}

std::uintptr_t overlap(const Region& a, const Region& b) {
  if (a.count <= 0 || b.count <= 0 || a.type.size() == 0 || b.type.size() == 0) return 0;
  const Range one = span_of(a), other = span_of(b);
  const std::uintptr_t first = std::max(one.begin, other.begin);
  if (first >= std::min(one.end, other.end)) return 0;
  if (a.type.contiguous(a.count) && b.type.contiguous(b.count)) return first;
  std::vector<Range> ranges_a, ranges_b;
  if (!collect_ranges(a, &ranges_a) || !collect_ranges(b, &ranges_b)) return 0;
  for (auto at = ranges_a.begin(), other_at = ranges_b.begin(); at != ranges_a.end() && other_at != ranges_b.end();) {
    const std::uintptr_t begin = std::max(at->begin, other_at->begin);
    if (begin < std::min(at->end, other_at->end)) return begin;
    at->end < other_at->end ? ++at : ++other_at;
  }
  return 0;
}

}  // namespace hr::check

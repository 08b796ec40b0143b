#include "io/segment_groups.hpp"

#include <algorithm>

#include "base/abi.hpp"
#include "layout/constructors.hpp"
#include "layout/op.hpp"

namespace hr::io {
namespace {

using layout::CallForm;
using layout::Datatype;

// The segments of a list, in order.
class Segments {
 public:
  explicit Segments(std::span<const SegmentGroup> groups) : groups_(groups) { skip_empty(); }
  [[nodiscard]] bool over() const noexcept { return group_ == groups_.size(); }
  [[nodiscard]] Count first() const noexcept { return groups_[group_].offset + index_ * groups_[group_].stride; }
  [[nodiscard]] Count last() const noexcept { return first() + groups_[group_].length; }
  void advance() noexcept {
    if (++index_ < groups_[group_].count) return;
    index_ = 0;
    ++group_;
    skip_empty();
  }

 private:
  void skip_empty() noexcept {
    while (group_ < groups_.size() && groups_[group_].count == 0) ++group_;
  }
  std::span<const SegmentGroup> groups_;
  std::size_t group_ = 0;
  Count index_ = 0;
};

Datatype& byte_type() { return *layout::predefined_type(abi::kByte); }

Status part_type(const SegmentGroup& group, Ref<Datatype>* type) {
  if (group.count == 1) return layout::make_contiguous(group.length, byte_type(), CallForm::kLarge, type);
  return layout::make_hvector(group.count, group.length, group.stride, byte_type(), CallForm::kLarge, type);
}

Status single_segments(std::span<const SegmentGroup> groups, Count origin, Ref<Datatype>* type) {
  std::vector<Count> lengths, offsets;
  for (const SegmentGroup& group : groups) {
    lengths.push_back(group.length);
    offsets.push_back(group.offset - origin);
  }
  return layout::make_hindexed(static_cast<Count>(groups.size()), lengths.data(), offsets.data(), byte_type(),
                               CallForm::kLarge, type);
}

Status group_types(std::span<const SegmentGroup> groups, Count origin, Ref<Datatype>* type) {
  std::vector<Ref<Datatype>> held(groups.size());
  std::vector<Datatype*> parts;
  std::vector<Count> offsets;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    HR_TRY(part_type(groups[i], &held[i]));
    parts.push_back(held[i].get());
    offsets.push_back(groups[i].offset - origin);
  }
  const std::vector<Count> ones(groups.size(), 1);
  return layout::make_struct(static_cast<Count>(groups.size()), ones.data(), offsets.data(), parts, CallForm::kLarge,
                             type);
}

}  // namespace

std::vector<SegmentGroup> groups_of(const FileView& view, Count position, Count bytes) {
  std::vector<SegmentGroup> groups;
  SegmentWalker segments(view, position, bytes);
  Count offset = 0, length = 0;
  while (segments.next(&offset, &length)) {
    if (!groups.empty() && groups.back().length == length) {
      SegmentGroup& last = groups.back();
      if (last.count == 1) last.stride = offset - last.offset;
      if (offset == last.offset + last.count * last.stride) {
        ++last.count;
        continue;
      }
    }
    groups.push_back({offset, length, 1, 0});
  }
  return groups;
}

Status type_of(std::span<const SegmentGroup> groups, Count origin, Ref<Datatype>* type) {
  const bool single = std::ranges::all_of(groups, [](const SegmentGroup& group) { return group.count == 1; });
  HR_TRY(single ? single_segments(groups, origin, type) : group_types(groups, origin, type));
  return (*type)->commit();
}

std::vector<Interval> cover(std::span<const std::vector<SegmentGroup>> lists, Count gap) {
  std::vector<Segments> segments;
  for (const std::vector<SegmentGroup>& list : lists) {
    segments.emplace_back(list);
    if (segments.back().over()) segments.pop_back();
  }
  std::vector<Interval> intervals;
  while (!segments.empty()) {
    Interval next{segments[0].first(), 0};
    for (const Segments& each : segments) next.first = std::min(next.first, each.first());
    next.last = next.first;
    // Segments that begin within the interval extend it, until none does.
    for (bool grown = true; grown;) {
      grown = false;
      for (Segments& each : segments) {
        while (!each.over() && each.first() <= next.last + gap) {
          next.last = std::max(next.last, each.last());
          each.advance();
          grown = true;
        }
      }
    }
    std::erase_if(segments, [](const Segments& each) { return each.over(); });
    intervals.push_back(next);
  }
  return intervals;
}

}  // namespace hr::io

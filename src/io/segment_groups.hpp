// Segment groups: the contiguous segments of a part of a view, in the form in which processes send them to each other:
// equally spaced segments of equal length form a group.
#pragma once

#include <span>
#include <vector>

#include "io/file_view.hpp"

namespace hr::io {

struct SegmentGroup {
  Count offset = 0;  // offset of the first segment in the file
  Count length = 0;
  Count count = 1;
  Count stride = 0;
};

// Returns the groups of `bytes` bytes of the view's data from a position on.
[[nodiscard]] std::vector<SegmentGroup> groups_of(const FileView& view, Count position, Count bytes);

// Creates a committed datatype of the bytes of the groups, with its origin at byte `origin` of the file.
Status type_of(std::span<const SegmentGroup> groups, Count origin, Ref<layout::Datatype>* type);

struct Interval {
  Count first = 0;
  Count last = 0;  // offset after the last byte
};

// Returns the intervals covered by at least one of the lists of groups. Each list must be in ascending order. Intervals
// at most `gap` bytes apart are joined.
[[nodiscard]] std::vector<Interval> cover(std::span<const std::vector<SegmentGroup>> lists, Count gap);

}  // namespace hr::io

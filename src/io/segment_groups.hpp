// Segment groups: the contiguous segments of a part of a view, in the form in which processes send them to each other:
// segments of one length at equal distances are one group.
#pragma once

#include <span>
#include <vector>

#include "io/file_view.hpp"

namespace hr::io {

struct SegmentGroup {
  Count offset = 0;  // of the first segment, in the file
  Count length = 0;
  Count count = 1;
  Count stride = 0;
};

// Returns the groups of `bytes` of the view's data from a position on.
[[nodiscard]] std::vector<SegmentGroup> groups_of(const FileView& view, Count position, Count bytes);

// Makes a datatype of the same bytes whose origin is the file's byte `origin`; committed.
Status type_of(std::span<const SegmentGroup> groups, Count origin, Ref<layout::Datatype>* type);

struct Interval {
  Count first = 0;
  Count last = 0;  // behind it
};

// Returns the bytes that several lists of groups cover together, each in ascending order. Intervals that are no further
// than `gap` bytes apart are joined.
[[nodiscard]] std::vector<Interval> cover(std::span<const std::vector<SegmentGroup>> lists, Count gap);

}  // namespace hr::io

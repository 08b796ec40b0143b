// FileView: the bytes of a file that a process sees, and their order (MPI 5.0 section 14.3).
//
// The view's data is the packed form of its filetype, tile after tile (layout/view.hpp). A position is the index of a
// byte in that data; an offset is the index of a byte in the file. Etype and filetype are kept as the program passed
// them, and also in their file form if the data representation has different widths (file_form.hpp).
//
// Owner: shared by a File and its pending operations. Threads: immutable.
#pragma once

#include <memory>
#include <string>

#include "base/count.hpp"
#include "base/status.hpp"
#include "io/datarep.hpp"
#include "layout/datatype.hpp"
#include "layout/host/cursor.hpp"

namespace hr::io {

class FileView {
 public:
  // Errors: MPI_ERR_ARG for types that are invalid in a view (section 14.3: displacements that are negative or
  // decrease, a filetype that does not consist of etypes, overlapping bytes if the file is writable).
  static Status make(Count displacement, layout::Datatype& etype, layout::Datatype& filetype,
                     const Representation& representation, bool writable, std::shared_ptr<const FileView>* view);
  // Returns the initial view of a file, which consists of bytes.
  static std::shared_ptr<const FileView> bytes();

  [[nodiscard]] Count displacement() const noexcept { return displacement_; }
  [[nodiscard]] layout::Datatype& etype() const noexcept { return *etype_; }
  [[nodiscard]] layout::Datatype& filetype() const noexcept { return *filetype_; }
  [[nodiscard]] const Representation& representation() const noexcept { return *representation_; }
  // Returns the size of an etype in the file, in bytes.
  [[nodiscard]] Count etype_bytes() const noexcept { return etype_bytes_; }
  // True if there is no data at all.
  [[nodiscard]] bool empty() const noexcept { return tile_bytes_ == 0; }
  // True if all data is contiguous.
  [[nodiscard]] bool contiguous() const noexcept { return contiguous_; }
  // True if file offsets never decrease along the data, so that position_at() can be used.
  [[nodiscard]] bool ordered() const noexcept { return ordered_; }
  // Returns the mean length of a contiguous segment, in bytes.
  [[nodiscard]] Count mean_segment() const noexcept { return mean_segment_; }

  // Returns the file offset of the byte at a position.
  [[nodiscard]] Count offset_of(Count position) const;
  // Returns the first position whose file offset is at least `offset`.
  [[nodiscard]] Count position_at(Count offset) const;

 private:
  friend class SegmentWalker;
  Status check(bool writable);
  [[nodiscard]] Count within_tile(Count position) const;

  Count displacement_ = 0;
  Ref<layout::Datatype> etype_, filetype_;  // types as passed by the program
  Ref<layout::Datatype> tile_;              // the filetype in its file form
  const Representation* representation_ = nullptr;
  Count etype_bytes_ = 1;
  Count tile_bytes_ = 1;
  Count tile_extent_ = 1;
  Count mean_segment_ = 0;
  bool contiguous_ = true;
  bool ordered_ = true;
};

// Iterates over the contiguous segments of a part of a view's data, in order; adjacent ones are joined.
class SegmentWalker {
 public:
  SegmentWalker(const FileView& view, Count position, Count bytes);
  SegmentWalker(const SegmentWalker&) = delete;
  SegmentWalker& operator=(const SegmentWalker&) = delete;

  // Finds the next segment; returns false if there are no more.
  bool next(Count* offset, Count* length);

 private:
  bool piece(Count* offset, Count* length);

  Count left_;
  Count origin_;
  layout::Shape shape_;
  layout::host::Cursor cursor_;
  std::size_t block_ = 0;
  Count within_ = 0;  // position within the block
  Count held_offset_ = 0, held_length_ = 0;
};

}  // namespace hr::io

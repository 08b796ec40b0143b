#include "io/file_view.hpp"

#include <algorithm>

#include "base/abi.hpp"
#include "io/file_form.hpp"
#include "layout/op.hpp"

namespace hr::io {
namespace {

using layout::Datatype;

// Returns the shape of the tiles from the first one to the one that contains `position`.
layout::Shape shape_up_to(const Datatype& tile, Count position) {
  return layout::shape_of(tile.layout(), tile.size() == 0 ? 0 : position / tile.size() + 1);
}

Count pattern_of(const layout::Shape& shape) { return std::max<Count>(shape.pattern, 1); }

}  // namespace

Status FileView::make(Count displacement, Datatype& etype, Datatype& filetype, const Representation& representation,
                      bool writable, std::shared_ptr<const FileView>* view) {
  auto made = std::make_shared<FileView>();
  made->displacement_ = displacement;
  made->etype_ = Ref<Datatype>::share(&etype);
  made->filetype_ = Ref<Datatype>::share(&filetype);
  made->representation_ = &representation;
  Ref<Datatype> file_etype;
  HR_TRY(file_form(etype, representation, &file_etype));
  HR_TRY(file_form(filetype, representation, &made->tile_));
  made->etype_bytes_ = file_etype->size();
  made->tile_bytes_ = made->tile_->size();
  made->tile_extent_ = made->tile_->extent();
  HR_TRY(made->check(writable));
  *view = std::move(made);
  return kOk;
}

std::shared_ptr<const FileView> FileView::bytes() {
  auto made = std::make_shared<FileView>();
  made->etype_ = made->filetype_ = made->tile_ = Ref<Datatype>::share(layout::predefined_type(abi::kByte));
  made->representation_ = &native();
  return made;
}

Status FileView::check(bool writable) {
  if (etype_bytes_ == 0) return fail(Errc::kArg, "the etype has no data, so that nothing can be counted in it");
  if (tile_bytes_ % etype_bytes_ != 0) {
    return fail(
        Errc::kArg,
        "the filetype has %lld bytes of data, which is not a multiple of the etype's %lld; build it from etypes",
        static_cast<long long>(tile_bytes_), static_cast<long long>(etype_bytes_));
  }
  contiguous_ = true;
  mean_segment_ = tile_bytes_;
  if (tile_bytes_ == 0) return kOk;
  if (tile_->true_lb() < 0 || tile_extent_ <= 0) {
    return fail(Errc::kArg, "the filetype reaches before its own beginning (first byte %lld, extent %lld)",
                static_cast<long long>(tile_->true_lb()), static_cast<long long>(tile_extent_));
  }
  contiguous_ = tile_->is_contiguous() && tile_extent_ == tile_bytes_;
  ordered_ = tile_->true_extent() <= tile_extent_;
  if (contiguous_) return kOk;
  SegmentWalker segments(*this, 0, tile_bytes_);
  Count offset = 0, length = 0, last = 0, end = 0, count = 0;
  for (; segments.next(&offset, &length); ++count) {
    if (count != 0 && offset < last) {
      return fail(Errc::kArg, "the displacements of the filetype go back from %lld to %lld; they may only ascend",
                  static_cast<long long>(last - displacement_), static_cast<long long>(offset - displacement_));
    }
    if (count != 0 && offset < end) {
      ordered_ = false;
      if (writable) {
        return fail(Errc::kArg, "the filetype has byte %lld twice, which a file that may be written does not allow",
                    static_cast<long long>(offset - displacement_));
      }
    }
    last = offset;
    end = offset + length;
  }
  mean_segment_ = tile_bytes_ / count;
  return kOk;
}

Count FileView::within_tile(Count position) const {
  const layout::Layout& layout = tile_->layout();
  const layout::Shape& shape = layout.one;
  if (shape.form == layout::Form::kContiguous) return shape.offset + position;
  const Count pattern = pattern_of(shape);
  const layout::host::Cursor cursor(shape, position / pattern);
  Count rest = position % pattern;
  if (shape.form == layout::Form::kStrided) return cursor.offset() + shape.offset + rest;
  const auto after = std::upper_bound(layout.prefix.begin(), layout.prefix.end(), rest);
  const auto block = static_cast<std::size_t>(after - layout.prefix.begin()) - 1;
  rest -= layout.prefix[block];
  return cursor.offset() + layout.blocks[block].offset + rest;
}

Count FileView::offset_of(Count position) const {
  if (contiguous_) return displacement_ + tile_->true_lb() + position;
  return displacement_ + position / tile_bytes_ * tile_extent_ + within_tile(position % tile_bytes_);
}

Count FileView::position_at(Count offset) const {
  if (empty()) return 0;
  const Count ahead = offset - displacement_ - tile_->true_lb();
  if (ahead <= 0) return 0;
  if (contiguous_) return ahead;
  const Count tile = ahead / tile_extent_;
  const Count wanted = offset - displacement_ - tile * tile_extent_;
  Count low = 0, high = tile_bytes_;  // bounds of the first position in the tile at or after `wanted`
  while (low < high) {
    const Count middle = low + (high - low) / 2;
    if (within_tile(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return tile * tile_bytes_ + low;
}

SegmentWalker::SegmentWalker(const FileView& view, Count position, Count bytes)
    : left_(bytes),
      origin_(view.displacement_),
      shape_(shape_up_to(*view.tile_, position + std::max<Count>(bytes, 1) - 1)),
      cursor_(shape_, position / pattern_of(shape_)) {
  if (left_ == 0 || view.empty()) {
    left_ = 0;
    return;
  }
  Count rest = position % pattern_of(shape_);
  if (shape_.form == layout::Form::kBlocks) {
    const auto& prefix = shape_.layout->prefix;
    block_ = static_cast<std::size_t>(std::upper_bound(prefix.begin(), prefix.end(), rest) - prefix.begin()) - 1;
    rest -= prefix[block_];
  }
  within_ = rest;
}

// Returns the rest of the current block, and advances to the next.
bool SegmentWalker::piece(Count* offset, Count* length) {
  if (left_ == 0) return false;
  if (shape_.form != layout::Form::kBlocks) {
    *offset = origin_ + cursor_.offset() + shape_.offset + within_;
    *length = std::min(left_, shape_.run - within_);
    left_ -= *length;
    within_ = 0;
    if (left_ != 0) cursor_.advance(1);
    return true;
  }
  const auto& blocks = shape_.layout->blocks;
  *offset = origin_ + cursor_.offset() + blocks[block_].offset + within_;
  *length = std::min(left_, blocks[block_].length - within_);
  left_ -= *length;
  within_ = 0;
  if (++block_ == blocks.size() && left_ != 0) {
    block_ = 0;
    cursor_.advance(1);
  }
  return true;
}

bool SegmentWalker::next(Count* offset, Count* length) {
  if (held_length_ != 0) {
    *offset = held_offset_;
    *length = held_length_;
    held_length_ = 0;
  } else if (!piece(offset, length)) {
    return false;
  }
  while (piece(&held_offset_, &held_length_)) {
    if (held_offset_ != *offset + *length) return true;
    *length += held_length_;
  }
  held_length_ = 0;
  return true;
}

}  // namespace hr::io

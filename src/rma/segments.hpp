// Visits the contiguous segments of a view in the order of the packed form; for code that processes memory element by
// element, or passes lists of addresses to the system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/view.hpp"

namespace hr::rma {

namespace detail {
template <class Use>
Status dimension_segments(const layout::Shape& shape, int dimension, std::uintptr_t at, Use& use) {
  if (dimension < shape.ndims) {
    const layout::Dim& dim = shape.dims[dimension];
    for (Count i = 0; i < dim.count; ++i) {
      HR_TRY(dimension_segments(shape, dimension + 1, at + static_cast<std::uintptr_t>(i * dim.stride), use));
    }
    return kOk;
  }
  if (shape.form != layout::Form::kBlocks)
    return use(reinterpret_cast<std::byte*>(at + static_cast<std::uintptr_t>(shape.offset)),
               static_cast<std::size_t>(shape.run));
  for (const layout::Block& block : shape.layout->blocks) {
    HR_TRY(use(reinterpret_cast<std::byte*>(at + static_cast<std::uintptr_t>(block.offset)),
               static_cast<std::size_t>(block.length)));
  }
  return kOk;
}
}  // namespace detail

// Calls use(address, bytes), which returns a Status, for each segment; stops at the first status that is not kOk.
template <class Use>
Status for_each_segment(const layout::View& view, Use&& use) {
  if (view.packed == 0) return kOk;
  if (view.contiguous) return use(view.data(), view.packed);
  const layout::Shape shape = layout::shape_of(view.type->layout(), view.count);
  if (shape.form == layout::Form::kEmpty) return kOk;
  return detail::dimension_segments(shape, 0, reinterpret_cast<std::uintptr_t>(view.address), use);
}

}  // namespace hr::rma

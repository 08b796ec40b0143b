// Cursor: a position in the packed form of a shape, and the address that corresponds to it.
//
// Works on whole patterns; the caller handles positions inside a pattern (engine.cpp). Lives on the stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "layout/canonical.hpp"

namespace hr::layout::host {

// Computes with integers: a buffer may be MPI_BOTTOM, and arithmetic on a null pointer is undefined.
inline std::byte* at(const std::byte* base, Count offset) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}

class Cursor {
 public:
  // Starts at pattern number `pattern`.
  Cursor(const Shape& shape, Count pattern) : shape_(shape) {
    for (int dim = shape.ndims - 1; dim > 0; --dim) {
      const Count count = shape.dims[dim].count;
      index_[dim] = pattern % count;
      pattern /= count;
      offset_ += index_[dim] * shape.dims[dim].stride;
    }
    index_[0] = pattern;
    if (shape.ndims > 0) offset_ += pattern * shape.dims[0].stride;
  }

  // Returns the displacement of this pattern's origin from the buffer address.
  [[nodiscard]] Count offset() const { return offset_; }
  // Returns the number of remaining patterns in this row (the innermost dimension).
  [[nodiscard]] Count row_left() const {
    return shape_.ndims == 0 ? 1 : shape_.dims[shape_.ndims - 1].count - index_[shape_.ndims - 1];
  }
  // Returns the number of remaining rows in this plane at the start of a row; 0 inside a row.
  [[nodiscard]] Count rows_left() const {
    if (shape_.ndims < 2 || index_[shape_.ndims - 1] != 0) return 0;
    return shape_.dims[shape_.ndims - 2].count - index_[shape_.ndims - 2];
  }
  // Advances by n patterns; n <= row_left().
  void advance(Count n) {
    if (shape_.ndims > 0) step(shape_.ndims - 1, n);
  }
  // Advances by n rows; n <= rows_left().
  void advance_rows(Count n) { step(shape_.ndims - 2, n); }

 private:
  void step(int dim, Count n) {
    index_[dim] += n;
    offset_ += n * shape_.dims[dim].stride;
    while (dim > 0 && index_[dim] == shape_.dims[dim].count) {
      offset_ -= index_[dim] * shape_.dims[dim].stride;
      index_[dim] = 0;
      --dim;
      ++index_[dim];
      offset_ += shape_.dims[dim].stride;
    }
  }

  const Shape& shape_;
  Count index_[kMaxShapeDims] = {};
  Count offset_ = 0;
};

}  // namespace hr::layout::host

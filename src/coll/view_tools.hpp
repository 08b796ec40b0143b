// Views of parts of a buffer, and temporary host memory of a collective.
//
// Owner: Scratch and TypedScratch own their memory and are locals of the coroutine that uses it. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "layout/view.hpp"

namespace hr::coll {

// Returns `address` advanced by `bytes`. Uses integer arithmetic, because the origin of an element may be outside the
// buffer, or be MPI_BOTTOM.
[[nodiscard]] inline std::byte* moved(std::byte* address, Count bytes) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(bytes));
}

// Returns elements [first, first + count) of a view.
[[nodiscard]] layout::View slice(const layout::View& view, Count first, Count count) noexcept;

using layout::bytes_view;

// Uninitialised host memory; small sizes need no allocation.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : heap_(bytes > sizeof inline_ ? new std::byte[bytes] : nullptr) {}
  [[nodiscard]] std::byte* data() noexcept { return heap_ ? heap_.get() : inline_; }
  // Returns a view of bytes [offset, offset + bytes) of the memory.
  [[nodiscard]] layout::View view(std::size_t offset, std::size_t bytes) noexcept {
    return bytes_view(data() + offset, bytes);
  }

 private:
  // Aligned to 16, the alignment of a coroutine frame.
  alignas(16) std::byte inline_[512];
  std::unique_ptr<std::byte[]> heap_;
};

// Returns the number of bytes of host memory needed for `count` elements with the type's own layout, including
// alignment.
[[nodiscard]] std::size_t typed_bytes(Count count, const layout::Datatype& type) noexcept;
// Returns the number of bytes needed for the elements of a view.
[[nodiscard]] inline std::size_t typed_bytes(const layout::View& view) noexcept {
  const bool dense = view.contiguous && view.type->true_lb() == 0;
  return dense ? view.packed : typed_bytes(view.count, *view.type);
}
// Returns the number of elements that fit into `bytes` bytes of such memory.
[[nodiscard]] Count typed_capacity(std::size_t bytes, const layout::Datatype& type) noexcept;
[[nodiscard]] Count typed_origin_by_bounds(Count count, const layout::Datatype& type) noexcept;
// Returns the offset of the origin of element 0 in such memory, in bytes from its start.
[[nodiscard]] inline Count typed_origin(Count count, const layout::Datatype& type) noexcept {
  return type.true_lb() == 0 && type.extent() >= 0 ? 0 : typed_origin_by_bounds(count, type);
}
// Returns a view of the elements in such memory, aligned as in the program's own buffers. `memory` must be aligned to
// 16.
[[nodiscard]] layout::View typed_view(std::byte* memory, Count count, const layout::Datatype& type) noexcept;

// Host memory for `count` elements with the type's own layout, so that an Op can be applied to it.
class TypedScratch {
 public:
  TypedScratch(Count count, const layout::Datatype& type);
  [[nodiscard]] const layout::View& view() const noexcept { return view_; }

 private:
  Scratch memory_;
  layout::View view_;
};

}  // namespace hr::coll

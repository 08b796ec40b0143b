#include "coll/view_tools.hpp"

#include <algorithm>

namespace hr::coll {

using layout::View;

View slice(const View& view, Count first, Count count) noexcept {
  View part = view;
  part.address = moved(view.address, first * view.type->extent());
  part.count = count;
  part.packed = static_cast<std::size_t>(count) * static_cast<std::size_t>(view.type->size());
  part.contiguous = view.type->contiguous(count);
  return part;
}

std::size_t typed_bytes(Count count, const layout::Datatype& type) noexcept {
  if (count <= 0) return 0;
  if (type.contiguous(count) && type.true_lb() == 0) [[likely]]
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(type.size());
  // Covers the range from the first to the last byte, for any sign of the stride, and space for alignment.
  const Count stride = type.extent() < 0 ? -type.extent() : type.extent();
  return static_cast<std::size_t>((count - 1) * stride + type.true_extent()) + 16;
}

Count typed_capacity(std::size_t bytes, const layout::Datatype& type) noexcept {
  const auto room = static_cast<Count>(bytes);
  if (type.contiguous(2) && type.true_lb() == 0) [[likely]]
    return room / type.size();
  const Count stride = type.extent() < 0 ? -type.extent() : type.extent();
  const Count beyond_first = room - 16 - type.true_extent();
  if (beyond_first < 0) return 0;
  return stride == 0 ? room : 1 + beyond_first / stride;
}

Count typed_origin_by_bounds(Count count, const layout::Datatype& type) noexcept {
  // Element 0 gets the alignment of the memory, so that data at a displacement is aligned as in the program's own
  // buffers.
  const Count lowest = type.true_lb() + (type.extent() < 0 && count > 0 ? (count - 1) * type.extent() : 0);
  const Count padding = ((lowest % 16) + 16) % 16;
  return padding - lowest;
}

View typed_view(std::byte* memory, Count count, const layout::Datatype& type) noexcept {
  View view;
  view.address = moved(memory, typed_origin(count, type));
  view.count = count;
  view.type = &type;
  view.packed = static_cast<std::size_t>(count) * static_cast<std::size_t>(type.size());
  view.contiguous = type.contiguous(count);
  return view;
}

TypedScratch::TypedScratch(Count count, const layout::Datatype& type)
    : memory_(typed_bytes(count, type)), view_(typed_view(memory_.data(), count, type)) {}

}  // namespace hr::coll

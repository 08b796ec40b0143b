#include "coll/view_tools.hpp"

#include <algorithm>

#include "base/abi.hpp"
#include "layout/op.hpp"

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

View bytes_view(std::byte* address, std::size_t bytes, const mem::Location& where) noexcept {
  View view;
  view.address = address;
  view.count = static_cast<Count>(bytes);
  view.type = layout::predefined_type(abi::kByte);
  view.where = where;
  view.packed = bytes;
  view.contiguous = true;
  return view;
}

namespace {

// From the first to the last byte of `count` elements, however they are strided, plus room to align.
std::size_t span_of(Count count, const layout::Datatype& type) noexcept {
  if (count <= 0) return 0;
  const Count stride = type.extent() < 0 ? -type.extent() : type.extent();
  return static_cast<std::size_t>((count - 1) * stride + type.true_extent()) + 16;
}

}  // namespace

TypedScratch::TypedScratch(Count count, const layout::Datatype& type) : memory_(span_of(count, type)) {
  // Element 0's origin gets the alignment of the memory: what lies at a displacement is aligned as in the program's
  // own buffers.
  const Count lowest = type.true_lb() + (type.extent() < 0 && count > 0 ? (count - 1) * type.extent() : 0);
  const Count padding = ((lowest % 16) + 16) % 16;
  view_.address = moved(memory_.data(), padding - lowest);
  view_.count = count;
  view_.type = &type;
  view_.packed = static_cast<std::size_t>(count) * static_cast<std::size_t>(type.size());
  view_.contiguous = type.contiguous(count);
}

}  // namespace hr::coll

#include "layout/device/by_copy_engine.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "mem/device/device_buffer.hpp"

namespace hr::layout::device {
namespace {

const mem::Location kHostMemory{};

// The elements [first, first + count) of a view, and the memory that they span.
struct Group {
  Group(const View& view, Count first, Count count) noexcept : elements(view) {
    const Datatype& type = *view.type;
    const Count distance = (count - 1) * type.extent();  // distance from the first element to the last
    low = type.true_lb() + std::min<Count>(distance, 0);
    bytes = static_cast<std::size_t>(type.true_extent() + std::abs(distance));
    elements.address += first * type.extent();
    elements.count = count;
    elements.packed = static_cast<std::size_t>(count * type.size());
  }
  [[nodiscard]] std::byte* lowest() const noexcept { return elements.address + low; }
  // Returns a view of the same elements in the host copy of their span at `memory`.
  [[nodiscard]] View in_host(std::byte* memory) const noexcept {
    View host = elements;
    // Computed with integers, because the origin of element 0 may be outside the host copy.
    host.address =
        reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory) - static_cast<std::uintptr_t>(low));
    host.where = kHostMemory;
    host.contiguous = false;
    return host;
  }

  View elements;
  Count low = 0;          // start of the span, relative to element 0's origin
  std::size_t bytes = 0;  // length of the span
};

// Returns the number of elements to copy to the host at a time: as many as fit into a staging piece, but at least one.
Count group_of(const View& view) {
  const Datatype& type = *view.type;
  const Count piece = static_cast<Count>(mem::device::staging_piece());
  const Count distance = std::max<Count>(std::abs(type.extent()), 1);
  return std::max<Count>(1, (piece - type.true_extent()) / distance);
}

template <class Move>
Status for_each_group(const View& view, std::size_t offset, std::size_t bytes, const Move& move) {
  const auto size = static_cast<std::size_t>(view.type->size());
  const Count group = group_of(view);
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
  for (std::size_t done = 0; done < bytes;) {
    const auto first = static_cast<Count>((offset + done) / size);
    const auto last = static_cast<Count>((offset + bytes + size - 1) / size);
    const Count count = std::min(group, last - first);
    const Group span(view, first, count);
    if (span.bytes > capacity) {
      memory.reset(new (std::nothrow) std::byte[span.bytes]);
      if (memory == nullptr)
        return fail(Errc::kNoMem, "no host memory for the %zu bytes that a type spans", span.bytes);
      capacity = span.bytes;
    }
    const std::size_t inside = offset + done - static_cast<std::size_t>(first) * size;
    const std::size_t length = std::min(bytes - done, span.elements.packed - inside);
    HR_TRY(mem::copy(memory.get(), kHostMemory, span.lowest(), view.where, span.bytes));
    HR_TRY(move(span, inside, length, done, memory.get()));
    done += length;
  }
  return kOk;
}

}  // namespace

Status pack_by_copy_engine(const View& from, std::size_t offset, std::size_t bytes, std::byte* to_host) {
  return for_each_group(
      from, offset, bytes,
      [&](const Group& span, std::size_t inside, std::size_t length, std::size_t done, std::byte* memory) {
        return layout::pack(span.in_host(memory), inside, length, to_host + done);
      });
}

Status unpack_by_copy_engine(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from_host) {
  return for_each_group(
      to, offset, bytes,
      [&](const Group& span, std::size_t inside, std::size_t length, std::size_t done, std::byte* memory) {
        HR_TRY(layout::unpack(span.in_host(memory), inside, length, from_host + done));
        return mem::copy(span.lowest(), to.where, memory, kHostMemory, span.bytes);
      });
}

}  // namespace hr::layout::device

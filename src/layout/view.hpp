// View: "count elements of this type at this address, in this kind of memory", and the operations that move it.
//
// A view's packed form is the concatenation of its data in typemap order, `packed` bytes long. All operations use byte
// offsets into that packed form, so that a transfer may divide it anywhere, even inside an element. The engine (host/,
// device/) is chosen by the location. Owner: none; a View borrows buffer and type. Data on the device is visible to
// every stream on return.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/count.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"
#include "mem/mem.hpp"

namespace hr::layout {

struct View {
  std::byte* address = nullptr;  // the buffer argument; element 0's origin (data may start at true_lb)
  Count count = 0;
  const Datatype* type = nullptr;
  std::size_t packed = 0;   // count * type->size(), in bytes
  bool contiguous = false;  // the data is `packed` contiguous bytes at data()
  mem::Location where{};

  // Returns the first byte of the data of a contiguous view. Computes with integers, as `address` may be MPI_BOTTOM.
  [[nodiscard]] std::byte* data() const noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                        static_cast<std::uintptr_t>(type->true_lb()));
  }
  // True for contiguous bytes, or none, that the CPU can move, also in managed memory that it has.
  [[nodiscard]] bool allows_memcpy() const noexcept { return contiguous && !where.is_device(); }
  // True for contiguous data that a network may move: in host memory, pinned or not. Managed memory may migrate.
  [[nodiscard]] bool allows_network() const noexcept { return contiguous && packed != 0 && where.is_host(); }
  // True for data that address, count and type describe completely: contiguous bytes in memory that no driver knows.
  [[nodiscard]] bool is_unknown_to_driver() const noexcept { return allows_network() && !where.pinned; }
};

namespace detail {
// Addresses below this are never data: a null buffer, or null plus a small displacement.
inline constexpr std::uintptr_t kFirstValidAddress = 4096;
// Completes make_view() in its rare cases: errors, no data, and possible device memory.
Status complete_view(bool overflow, View* view);
// Returns mem::known_host(), but false if every view must be classified.
bool known_host(const void* address) noexcept;
}  // namespace detail

// Called for every view with data, when it is complete; may be null. Needs mem::check_every_buffer(). Owner: the code
// in bind/ that sets it. Threads: library lock.
inline void (*view_checker)(const View& view) = nullptr;

// Classifies the memory and fills every field. `buffer` may be MPI_BOTTOM (null) for a type with absolute
// addresses. A view of zero bytes is never classified. The type must be committed.
// Errors: MPI_ERR_BUFFER (null buffer, or outside its device allocation), MPI_ERR_COUNT (overflow).
inline Status make_view(const void* buffer, Count count, const Datatype& type, View* view) {
  view->address = static_cast<std::byte*>(const_cast<void*>(buffer));
  view->count = count;
  view->type = &type;
  view->where = mem::Location{};
  view->contiguous = type.contiguous(count);
  Count packed = 0;
  const bool overflow = __builtin_mul_overflow(count, type.size(), &packed);
  view->packed = static_cast<std::size_t>(packed);
  const auto data = reinterpret_cast<std::uintptr_t>(view->data());
  if (overflow || packed == 0 || data < detail::kFirstValidAddress || mem::detail::maybe_device) [[unlikely]]
    return detail::complete_view(overflow, view);
  return kOk;
}

// Makes a view of another buffer with the count and type of `other`; otherwise like make_view().
inline Status make_view_like(const View& other, const void* buffer, View* view) {
  view->address = static_cast<std::byte*>(const_cast<void*>(buffer));
  view->count = other.count;
  view->type = other.type;
  view->packed = other.packed;
  view->contiguous = other.contiguous;
  view->where = mem::Location{};
  const auto data = reinterpret_cast<std::uintptr_t>(view->data());
  if (other.packed == 0 || data < detail::kFirstValidAddress || mem::detail::maybe_device) [[unlikely]]
    return detail::complete_view(false, view);
  return kOk;
}

// True if the address is valid and certainly host memory: make_view() would not query the driver about it. Costs one
// comparison if there is no driver, else a few more (mem::known_host()).
inline bool is_host_by_address(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) >= detail::kFirstValidAddress &&
         (!mem::detail::maybe_device || detail::known_host(address));
}

namespace detail {
// Finds the first byte and the length of contiguous elements. Returns false if they are not contiguous.
inline bool contiguous_bytes(const void* buffer, Count count, const Datatype& type, const std::byte** data,
                             std::size_t* bytes) {
  Count packed = 0;
  if (!type.contiguous(count) || __builtin_mul_overflow(count, type.size(), &packed)) return false;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(type.true_lb());
  *data = reinterpret_cast<const std::byte*>(address);
  *bytes = static_cast<std::size_t>(packed);
  return true;
}
}  // namespace detail

// Finds contiguous data without a View in the most frequent case: there is no driver, so that all memory is host
// memory. If this returns false, use make_view(), which is also fast if is_host_by_address(). Makes no function call,
// as short messages take this path.
inline bool find_contiguous_without_driver(const void* buffer, Count count, const Datatype& type,
                                           const std::byte** data, std::size_t* bytes) {
  return !mem::detail::maybe_device && detail::contiguous_bytes(buffer, count, type, data, bytes) && *bytes != 0 &&
         reinterpret_cast<std::uintptr_t>(*data) >= detail::kFirstValidAddress;
}

// Finds contiguous data without a View if is_host_by_address(), also beside a driver, which is not asked. Threads: any.
inline bool find_contiguous_by_address(const void* buffer, Count count, const Datatype& type, const std::byte** data,
                                       std::size_t* bytes) {
  return detail::contiguous_bytes(buffer, count, type, data, bytes) && *bytes != 0 && is_host_by_address(*data);
}

// The same for all memory that the driver, which is asked, does not know. Threads: any, without the library lock.
bool find_contiguous_unknown_to_driver(const void* buffer, Count count, const Datatype& type, const std::byte** data,
                                       std::size_t* bytes);

// *first: the lowest address of the elements' data. *bytes: the distance from there to the end of the highest element.
void span_of(const View& view, std::byte** first, std::size_t* bytes);

// Returns a view of contiguous bytes, as MPI_BYTE, in memory of the given kind, without classifying it.
[[nodiscard]] View bytes_view(const void* data, std::size_t bytes, const mem::Location& where = {}) noexcept;

// Both functions move bytes [offset, offset + bytes) of the packed form, to or from host memory.
Status pack(const View& from, std::size_t offset, std::size_t bytes, std::byte* to);
Status unpack(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from);

// Copies min(from.packed, to.packed) bytes from one view to another, of any kinds and layouts, in this process. The
// buffers must not overlap.
Status copy(const View& from, const View& to);

}  // namespace hr::layout

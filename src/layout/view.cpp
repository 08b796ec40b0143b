#include "layout/view.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <memory>
#include <new>

#include "base/abi.hpp"
#include "layout/device/engine.hpp"
#include "layout/host/engine.hpp"
#include "layout/op.hpp"
#include "mem/independent.hpp"

namespace hr::layout {
namespace {

// Size of the buffer through which a copy between different kinds of memory is staged.
constexpr std::size_t kStage = std::size_t{1} << 20;

const mem::Location kHostMemory{};

[[gnu::cold]] Status null_buffer(const void* buffer, Count count, const Datatype& type) {
  return fail(Errc::kBuffer,
              "the buffer is %p, so the data of %lld elements of %s would lie at %#" PRIxPTR
              "; pass the address of the data",
              buffer, static_cast<long long>(count), type.name().empty() ? "a derived type" : type.name().c_str(),
              reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(type.true_lb()));
}

// Calls use(shape) with the shape of a view; the layout caches the shape of one element.
template <class Use>
inline void with_shape(const View& view, Use&& use) {
  const Layout& layout = view.type->layout();
  if (view.count == 1) return use(layout.one);
  use(shape_of(layout, view.count));
}

// Copies in pieces through host memory, if one view is on a device and the host's view is not contiguous.
Status copy_staged(const View& from, const View& to, std::size_t bytes) {
  const std::size_t size = std::min(bytes, kStage);
  const std::unique_ptr<std::byte[]> stage(new (std::nothrow) std::byte[size]);
  if (stage == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes to stage a copy through", size);
  for (std::size_t done = 0; done < bytes; done += size) {
    const std::size_t length = std::min(size, bytes - done);
    HR_TRY(pack(from, done, length, stage.get()));
    HR_TRY(unpack(to, done, length, stage.get()));
  }
  return kOk;
}

}  // namespace

View bytes_view(const void* data, std::size_t bytes, const mem::Location& where) noexcept {
  View view;
  view.address = static_cast<std::byte*>(const_cast<void*>(data));
  view.count = static_cast<Count>(bytes);
  view.type = predefined_type(abi::kByte);
  view.where = where;
  view.packed = bytes;
  view.contiguous = true;
  return view;
}

void span_of(const View& view, std::byte** first, std::size_t* bytes) {
  const Datatype& type = *view.type;
  const Count last = (view.count - 1) * type.extent();
  *first = view.data() + std::min<Count>(last, 0);
  *bytes = static_cast<std::size_t>(type.true_extent() + (last < 0 ? -last : last));
}

bool detail::known_host(const void* address) noexcept { return view_checker == nullptr && mem::known_host(address); }

bool find_contiguous_unknown_to_driver(const void* buffer, Count count, const Datatype& type, const std::byte** data,
                                       std::size_t* bytes) {
  if (find_contiguous_by_address(buffer, count, type, data, bytes)) return true;
  const bool is_contiguous = type.contiguous(count) && *bytes != 0;
  return is_contiguous && view_checker == nullptr &&
         reinterpret_cast<std::uintptr_t>(*data) >= detail::kFirstValidAddress && mem::unknown_to_driver(*data);
}

Status detail::complete_view(bool overflow, View* view) {
  const Datatype& type = *view->type;
  if (overflow) {
    return fail(Errc::kCount, "%lld elements of %lld bytes do not fit 63 bits", static_cast<long long>(view->count),
                static_cast<long long>(type.size()));
  }
  if (view->packed == 0) {
    view->contiguous = true;
    return kOk;
  }
  const std::byte* data = view->data();
  if (reinterpret_cast<std::uintptr_t>(data) < kFirstValidAddress) return null_buffer(view->address, view->count, type);
  if (known_host(data)) return kOk;
  std::byte* first = nullptr;
  std::size_t bytes = 0;
  span_of(*view, &first, &bytes);
  HR_TRY(mem::classify_unknown(data, &view->where, first == data ? bytes : 0));
  view->where.independent = mem::IndependentScope::active();
  if (view->where.is_device()) HR_TRY(mem::check_range(first, bytes, view->where));
  if (view_checker != nullptr) [[unlikely]]
    view_checker(*view);
  return kOk;
}

Status pack(const View& from, std::size_t offset, std::size_t bytes, std::byte* to) {
  if (bytes == 0) return kOk;
  if (from.where.is_device()) [[unlikely]] {
    if (from.contiguous) return mem::copy(to, kHostMemory, from.data() + offset, from.where, bytes);
    return device::pack(from, offset, bytes, to);
  }
  if (from.contiguous) {
    std::memcpy(to, from.data() + offset, bytes);
  } else {
    with_shape(from, [&](const Shape& shape) { host::pack(shape, from.address, offset, bytes, to); });
  }
  return kOk;
}

Status unpack(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from) {
  if (bytes == 0) return kOk;
  if (to.where.is_device()) [[unlikely]] {
    if (to.contiguous) return mem::copy(to.data() + offset, to.where, from, kHostMemory, bytes);
    return device::unpack(to, offset, bytes, from);
  }
  if (to.contiguous) {
    std::memcpy(to.data() + offset, from, bytes);
  } else {
    with_shape(to, [&](const Shape& shape) { host::unpack(shape, to.address, offset, bytes, from); });
  }
  return kOk;
}

Status copy(const View& from, const View& to) {
  const std::size_t bytes = std::min(from.packed, to.packed);
  if (bytes == 0) return kOk;
  const bool from_device = from.where.is_device();
  const bool to_device = to.where.is_device();
  if (!from_device && !to_device) [[likely]] {
    if (to.contiguous) return pack(from, 0, bytes, to.data());
    if (from.contiguous) return unpack(to, 0, bytes, from.data());
    with_shape(from, [&](const Shape& from_shape) {
      with_shape(to, [&](const Shape& to_shape) { host::copy(from_shape, from.address, to_shape, to.address, bytes); });
    });
    return kOk;
  }
  if (from.contiguous && to.contiguous) return mem::copy(to.data(), to.where, from.data(), from.where, bytes);
  if (from_device && to_device) return device::copy(from, to);
  if (!from_device && from.contiguous) return unpack(to, 0, bytes, from.data());
  if (!to_device && to.contiguous) return pack(from, 0, bytes, to.data());
  return copy_staged(from, to, bytes);
}

}  // namespace hr::layout

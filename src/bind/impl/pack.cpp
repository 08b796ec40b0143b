// Packing for programs (MPI 5.0 sections 5.2 and 5.3). MPI_PACKED data is the packed form of layout/view.hpp.
#include <cstring>
#include <memory>
#include <new>

#include "base/abi.hpp"
#include "bind/impl.hpp"
#include "layout/external32.hpp"
#include "layout/op.hpp"
#include "layout/view.hpp"

namespace hr::bind::impl {
namespace {

using layout::Datatype;
using layout::View;

// Returns count * size, or MPI_ERR_COUNT.
Status bytes_of(Count count, Count size, Count* bytes) {
  if (__builtin_mul_overflow(count, size, bytes)) {
    return fail(Errc::kCount, "%lld elements of %lld bytes do not fit 63 bits", static_cast<long long>(count),
                static_cast<long long>(size));
  }
  return kOk;
}

[[gnu::cold]] Status outside_buffer(Count room, Count position, Count bytes) {
  if (position < 0 || position > room) {
    return fail(Errc::kArg, "position is %lld, outside the packed buffer of %lld bytes",
                static_cast<long long>(position), static_cast<long long>(room));
  }
  return fail(Errc::kTruncate, "%lld bytes do not fit the packed buffer: it has %lld from position %lld on",
              static_cast<long long>(bytes), static_cast<long long>(room - position), static_cast<long long>(position));
}

inline Status check_room(Count room, Count position, Count bytes) {
  if (position < 0 || position > room || bytes > room - position) [[unlikely]]
    return outside_buffer(room, position, bytes);
  return kOk;
}

// Creates a view of `bytes` bytes of the packed buffer from `position` on, in any kind of memory. The caller has
// checked that these bytes are within the buffer.
Status packed_view(const void* buffer, Count position, Count bytes, View* view) {
  const auto* start = static_cast<const std::byte*>(buffer) + (buffer == nullptr ? 0 : position);
  return layout::make_view(start, bytes, *layout::predefined_type(abi::kPacked), view);
}

[[gnu::noinline]] Status pack_anywhere(const View& from, void* outbuf, Count position) {
  View to;
  HR_TRY(packed_view(outbuf, position, static_cast<Count>(from.packed), &to));
  return layout::copy(from, to);
}

[[gnu::noinline]] Status unpack_anywhere(const void* inbuf, Count position, const View& to) {
  View from;
  HR_TRY(packed_view(inbuf, position, static_cast<Count>(to.packed), &from));
  return layout::copy(from, to);
}

Status check_datarep(const char* datarep) {
  if (std::strcmp(datarep, "external32") == 0) return kOk;
  return fail(Errc::kArg, "datarep is \"%.64s\"; the only one is \"external32\"", datarep);
}

Status host_buffer(std::size_t bytes, std::unique_ptr<std::byte[]>* buffer) {
  buffer->reset(new (std::nothrow) std::byte[bytes]);
  if (*buffer == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes to convert external32 in", bytes);
  return kOk;
}

}  // namespace

Status pack(const void* inbuf, Count incount, Datatype& datatype, void* outbuf, Count outsize, Count& position,
            comm::Communicator& /*comm*/) {
  View from;
  HR_TRY(layout::make_view(inbuf, incount, datatype, &from));
  const auto bytes = static_cast<Count>(from.packed);
  HR_TRY(check_room(outsize, position, bytes));
  if (layout::is_host_by_address(outbuf)) {
    HR_TRY(layout::pack(from, 0, from.packed, static_cast<std::byte*>(outbuf) + position));
  } else {
    HR_TRY(pack_anywhere(from, outbuf, position));
  }
  position += bytes;
  return kOk;
}

Status unpack(const void* inbuf, Count insize, Count& position, void* outbuf, Count outcount, Datatype& datatype,
              comm::Communicator& /*comm*/) {
  View to;
  HR_TRY(layout::make_view(outbuf, outcount, datatype, &to));
  const auto bytes = static_cast<Count>(to.packed);
  HR_TRY(check_room(insize, position, bytes));
  if (layout::is_host_by_address(inbuf)) {
    HR_TRY(layout::unpack(to, 0, to.packed, static_cast<const std::byte*>(inbuf) + position));
  } else {
    HR_TRY(unpack_anywhere(inbuf, position, to));
  }
  position += bytes;
  return kOk;
}

Status pack_size(Count incount, Datatype& datatype, comm::Communicator& /*comm*/, Count& size) {
  return bytes_of(incount, datatype.size(), &size);
}

Status pack_external(const char* datarep, const void* inbuf, Count incount, Datatype& datatype, void* outbuf,
                     Count outsize, Count& position) {
  HR_TRY(check_datarep(datarep));
  View from, to;
  Count bytes = 0;
  HR_TRY(layout::make_view(inbuf, incount, datatype, &from));
  HR_TRY(bytes_of(incount, layout::external32_size(datatype), &bytes));
  HR_TRY(check_room(outsize, position, bytes));
  HR_TRY(packed_view(outbuf, position, bytes, &to));
  if (to.where.is_device()) {
    std::unique_ptr<std::byte[]> buffer;
    HR_TRY(host_buffer(to.packed, &buffer));
    HR_TRY(layout::pack_external32(from, buffer.get()));
    HR_TRY(layout::unpack(to, 0, to.packed, buffer.get()));
  } else {
    HR_TRY(layout::pack_external32(from, to.data()));
  }
  position += bytes;
  return kOk;
}

Status unpack_external(const char* datarep, const void* inbuf, Count insize, Count& position, void* outbuf,
                       Count outcount, Datatype& datatype) {
  HR_TRY(check_datarep(datarep));
  View from, to;
  Count bytes = 0;
  HR_TRY(layout::make_view(outbuf, outcount, datatype, &to));
  HR_TRY(bytes_of(outcount, layout::external32_size(datatype), &bytes));
  HR_TRY(check_room(insize, position, bytes));
  HR_TRY(packed_view(inbuf, position, bytes, &from));
  if (from.where.is_device()) {
    std::unique_ptr<std::byte[]> buffer;
    HR_TRY(host_buffer(from.packed, &buffer));
    HR_TRY(layout::pack(from, 0, from.packed, buffer.get()));
    HR_TRY(layout::unpack_external32(to, buffer.get()));
  } else {
    HR_TRY(layout::unpack_external32(to, from.data()));
  }
  position += bytes;
  return kOk;
}

Status pack_external_size(const char* datarep, Count incount, Datatype& datatype, Count& size) {
  HR_TRY(check_datarep(datarep));
  return bytes_of(incount, layout::external32_size(datatype), &size);
}

}  // namespace hr::bind::impl

// external32 (MPI 5.0 section 14.5.2), the standard's representation of data: big-endian, IEEE, fixed widths.
//
// Differs from the representation in memory in byte order and for some C types: long is 4 bytes, wchar_t is 2, and long
// double is IEEE quadruple precision. There is no padding. Errors: MPI_ERR_CONVERSION if a value does not fit its
// external width.
#pragma once

#include <cstddef>

#include "base/count.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"
#include "layout/view.hpp"

namespace hr::layout {

// Returns the number of bytes of one element in external32.
Count external32_size(const Datatype& type) noexcept;

// Both functions move all data of a view, to or from host memory of view.count * external32_size() bytes.
Status pack_external32(const View& from, std::byte* to);
Status unpack_external32(const View& to, const std::byte* from);

}  // namespace hr::layout

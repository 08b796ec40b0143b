// external32 (MPI 5.0 section 14.5.2): the standard's own representation: big-endian, IEEE, fixed widths.
//
// Differs from memory here in byte order and for four C types: long is 4 bytes, wchar_t 2, long double is IEEE
// quadruple precision. There are no holes. Errors: MPI_ERR_CONVERSION when a value does not fit its external width.
#pragma once

#include <cstddef>

#include "base/count.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"
#include "layout/view.hpp"

namespace hr::layout {

// Bytes of one element in external32.
Count external32_size(const Datatype& type) noexcept;

// Both move all of a view, to or from host memory of view.count * external32_size() bytes.
Status pack_external32(const View& from, std::byte* to);
Status unpack_external32(const View& to, const std::byte* from);

}  // namespace hr::layout

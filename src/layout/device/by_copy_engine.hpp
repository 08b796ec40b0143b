// Packing without kernels (a library built without nvcc, or device_kernels=off): the memory that the elements span is
// copied to the host, in groups of whole elements, and packed there; unpacking is a read-modify-write.
//
// Slow, and unpacking rewrites the gaps between the data with their old contents, so the program must not change the
// gaps on the device in the meantime. The kernels have neither drawback.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/view.hpp"

namespace hr::layout::device {

Status pack_by_copy_engine(const View& from, std::size_t offset, std::size_t bytes, std::byte* to_host);
Status unpack_by_copy_engine(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from_host);

}  // namespace hr::layout::device

// Packing without kernels (a library built without nvcc, or cuda_kernels=off): the memory that the elements span is
// copied to the host, in groups of whole elements, and packed there; unpacking reads, changes and writes it back.
//
// Slow, and unpacking rewrites the holes between the data with what was in them: a program must not change those on
// the device meanwhile. The kernels do neither.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/view.hpp"

namespace hr::layout::cuda {

Status pack_by_copy_engine(const View& from, std::size_t offset, std::size_t bytes, std::byte* to_host);
Status unpack_by_copy_engine(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from_host);

}  // namespace hr::layout::cuda

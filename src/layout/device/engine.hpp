// The device engine: moves the data of views whose memory is on a device (View::where.is_device()).
//
// Called by layout/view.cpp only. Not used for a copy between a contiguous view and host memory; mem::copy() does that.
// Data is visible to every stream and to the CPU on return. Errors: MPI_ERR_OTHER, naming the driver's function and its
// error. Threads: any.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/view.hpp"

namespace hr::layout::device {

// Both functions move bytes [offset, offset + bytes) of the packed form of a device view, to or from host memory.
Status pack(const View& from, std::size_t offset, std::size_t bytes, std::byte* to_host);
Status unpack(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from_host);

// Copies min(from.packed, to.packed) bytes; both views are on devices, the same or different ones.
Status copy(const View& from, const View& to);

}  // namespace hr::layout::device

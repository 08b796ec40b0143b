// The host engine: moves the data of shapes whose memory the CPU can access.
//
// Makes no allocation and no system call; a call takes a few divisions to find the first segment. `base` is the buffer
// address (null for absolute addresses). Offsets and lengths are in bytes of the packed form and may divide segments.
// Owner: none. Threads: any.
#pragma once

#include <cstddef>

#include "layout/canonical.hpp"

namespace hr::layout::host {

void pack(const Shape& shape, const std::byte* base, std::size_t offset, std::size_t bytes, std::byte* to);
void unpack(const Shape& shape, std::byte* base, std::size_t offset, std::size_t bytes, const std::byte* from);
// Copies the first `bytes` of one shape's packed form into the other's, without packing all of it in between.
void copy(const Shape& from_shape, const std::byte* from, const Shape& to_shape, std::byte* to, std::size_t bytes);

}  // namespace hr::layout::host

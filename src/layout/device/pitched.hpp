// Pitched copies: equally spaced rows of one length on both sides (or on one, if the other is contiguous), which a
// single operation of the copy engine moves. The copy engine moves a face of a cube that consists of rows as fast as a
// contiguous face; a kernel takes longer, and occupies multiprocessors that the program could use.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/device/side.hpp"

namespace hr::layout::device {

// Starts moving packed bytes [0, bytes) on a stream of the context, which must be current; does not wait. *started
// stays false if the sides do not have that form, or if their rows are so many and so short that a kernel is faster.
Status start_pitched(mem::device::Context& context, mem::device::StreamHandle stream, const SideShape& from,
                     const SideShape& to, std::size_t bytes, bool* started);

}  // namespace hr::layout::device

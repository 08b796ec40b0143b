// Device transfer: data of a device between its memory and a file, in pieces through pinned memory: while the worker's
// thread reads or writes one, the device copies or packs the other.
//
// Owner: the operation. The pinned memory is the layer's, for one operation at a time, and kept for the next.
// Threads: library lock.
#pragma once

#include "io/operation.hpp"

namespace hr::io {

// True if the device can move this memory by itself; otherwise it goes through layout::pack() and unpack().
[[nodiscard]] bool device_moves(const layout::View& memory);
[[nodiscard]] p2p::Task move_by_device(Operation* operation);

}  // namespace hr::io

// Device transfer: moves data between device memory and a file, in pieces through pinned memory. While the worker
// thread reads or writes one piece, the device copies or packs another.
//
// Owner: the operation. The pinned memory is taken from the device's context (mem/device/pinned_staging.hpp) for the
// duration of the transfer. Threads: library lock.
#pragma once

#include "io/operation.hpp"

namespace hr::io {

// True if the device can move this memory itself; otherwise layout::pack() and unpack() are used.
[[nodiscard]] bool device_moves(const layout::View& memory);
[[nodiscard]] p2p::Task move_by_device(Operation* operation);

}  // namespace hr::io

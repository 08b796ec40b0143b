// Windows in memory of devices: processes of one host whose own part is on a device, too, map the others' (CUDA IPC,
// mem/cuda/ipc.hpp). Put and get are then one copy or kernel of the origin; updates go under the target's lock
// (exclusion.hpp). A process that cannot map them asks the target by messages; so does one with HEADRACE_CUDA_IPC=off,
// which maps and exports nothing. Internal to rma/.
#pragma once

#include <vector>

#include "rma/memory.hpp"

namespace hr::rma {

// Exports own memory and maps the others', if any process of the window has device memory and control words are shared.
// Collective. Errors: those of messages.
Status share_devices(Window& window, const std::vector<Facts>& facts);
// Releases the mappings.
void unmap_devices(Window& window) noexcept;
// Waits for the program's earlier work on the default stream, which may use this process's part, before others are let
// in.
Status settle_device(const Window& window);

}  // namespace hr::rma

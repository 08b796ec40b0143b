// Windows in memory of devices: processes of one host whose own part is on a device, too, map the others' (CUDA IPC,
// mem/cuda/ipc.hpp). Put and get are then one copy or kernel of the origin; updates go under the target's lock
// (exclusion.hpp). Whoever cannot map them asks the target by messages. Internal to rma/.
#pragma once

#include <vector>

#include "rma/memory.hpp"

namespace hr::rma {

// Offers and maps, where any process of the window has device memory and control words are shared. Collective. Errors:
// those of messages.
Status share_devices(Window& window, const std::vector<Facts>& facts);
// Gives the mappings back.
void unmap_devices(Window& window) noexcept;
// What the program has put on the default stream before, and may be at work on this process's part, is done: before
// others are let in.
Status settle_device(const Window& window);

}  // namespace hr::rma

// Windows in device memory: processes of one host whose own parts are on devices map each other's parts (IPC,
// mem/device/ipc.hpp). Put and get are then one copy or kernel on the origin's device; updates hold the target's lock
// (exclusion.hpp). A process that cannot map a part sends its operations to the target as messages; with
// HEADRACE_DEVICE_IPC=off a process maps and exports nothing. Internal to rma/.
#pragma once

#include <vector>

#include "rma/memory.hpp"

namespace hr::rma {

// Exports this process's memory and maps that of the others, if control words are shared and any process of the window
// has its part in device memory. Collective. Errors: those of messages.
Status share_devices(Window& window, const std::vector<Facts>& facts);
// Releases the mappings.
void unmap_devices(Window& window) noexcept;
// Waits for the program's earlier work on the default stream, which may use this process's part. Must be called before
// others get access.
Status settle_device(const Window& window);

}  // namespace hr::rma

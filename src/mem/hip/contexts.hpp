// HIP has no contexts: each device has one state, and each thread a current device. The contexts of the table
// (mem/device.hpp) are the devices, and pushing one makes its device current.
//
// Owner: none; the handles are constant. Threads: any; each thread has its own stack.
#pragma once

#include "mem/device.hpp"

namespace hr::mem::hip {

// Returns the handle of a device; null if the device does not exist.
[[nodiscard]] device::ContextHandle context_of(int device) noexcept;
// Returns the device of a handle; -1 if context_of() did not return it.
[[nodiscard]] int device_of(device::ContextHandle context) noexcept;

device::Result primary_state(int device, unsigned* flags, int* active);
device::Result primary_retain(device::ContextHandle* context, int device);
device::Result primary_release(int device);
device::Result context_push(device::ContextHandle context);
device::Result context_pop(device::ContextHandle* context);
device::Result context_current(device::ContextHandle* context);
device::Result context_enable_peer(device::ContextHandle peer, unsigned flags);
device::Result context_id(device::ContextHandle context, unsigned long long* id);

}  // namespace hr::mem::hip

// Identity of devices among processes, and capabilities of the links between devices. Threads: library lock.
#pragma once

#include <cstdint>

#include "mem/device/context.hpp"

namespace hr::mem::device {

// Returns the device's PCI bus id, the same number in every process.
[[nodiscard]] std::uint64_t pci_bus_id_of(int device) noexcept;

// True if kernels on the context's device can change words on the device of that locality (Context::locality()) with
// atomic operations, as over NVLink. Also false if this process does not see the other device.
[[nodiscard]] bool has_atomics(const Context& context, std::uint64_t locality) noexcept;

}  // namespace hr::mem::device

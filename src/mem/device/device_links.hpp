// Identity of devices among processes, and capabilities of the links between devices. Threads: library lock.
#pragma once

#include <cstdint>

#include "mem/device/context.hpp"

namespace hr::mem::device {

// Returns the device's PCI bus id, the same number in every process.
[[nodiscard]] std::uint64_t pci_bus_id_of(int device) noexcept;

// Returns a number that identifies the device in every process of the host. The parts of a partitioned device (MIG),
// which have one PCI bus id, have different numbers. The highest bit is 0.
[[nodiscard]] std::uint64_t identity_of(int device) noexcept;

// True if kernels on the context's device can change words on the device of that locality (Context::locality()) with
// atomic operations, as over NVLink. Also false if this process does not see the other device.
[[nodiscard]] bool has_atomics(const Context& context, std::uint64_t locality) noexcept;

}  // namespace hr::mem::device

// Chunked memory (VMM) of HIP for the table (mem/device.hpp). Versions differ:
// - A chunk is recognised by an attribute from ROCm 7.2 on, before that by its access permissions.
// - Before ROCm 7.12, hipMemRetainAllocationHandle() does not count the reference, and crashes if the memory is not
//   chunked.
// - hipMemImportFromShareableHandle() expects the descriptor's address up to ROCm 7.0, and the descriptor itself in
//   later versions; some builds of ROCm 7.0 already have the later form.
//
// Owner: none. Threads: any.
#pragma once

#include "mem/device.hpp"

namespace hr::mem::hip {

// True if the runtime has all functions that exporting and mapping chunks need.
[[nodiscard]] bool has_chunks() noexcept;
// True if the device memory at an address belongs to a chunk that the program has mapped. `start`: start of its
// allocation or chunk; 0 if unknown.
[[nodiscard]] bool is_chunk(device::DeviceAddress address, device::DeviceAddress start, int device) noexcept;
// Returns the kinds of handles with which the chunk at `address` may be exported, as bits. `address` must be in a
// chunk.
[[nodiscard]] unsigned long long handle_types_of_chunk(device::DeviceAddress address) noexcept;

device::Result chunk_export(int* descriptor, device::DeviceAddress address);
device::Result chunk_import(device::ChunkHandle* handle, int descriptor);

}  // namespace hr::mem::hip

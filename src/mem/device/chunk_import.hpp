// Maps chunks of other processes' memory (chunk_export.hpp) side by side into one address range.
//
// Owner: the caller, which unmaps the range. Threads: library lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "mem/device/chunk_export.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

struct MappedChunks {
  DeviceAddress base = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> chunks;  // size of each in bytes
};

// Maps the chunks that the table names, for the device of `context`. `id`: that of the Export.
// Errors: MPI_ERR_UNSUPPORTED_OPERATION if they cannot be mapped. *never: true if no memory of that process can ever be
// mapped.
Status map_chunks(const Context& context, const ChunkTableName& table, std::uint64_t id, MappedChunks* mapped,
                  bool* never);
// Unmaps chunks that are no longer used.
void unmap_chunks(const MappedChunks& mapped) noexcept;

}  // namespace hr::mem::device

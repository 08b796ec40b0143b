// Memory of one process in another one: legacy CUDA IPC, behind a bounded cache of mappings.
//
// The exporter hands out an Export (it travels in messages); the importer maps the whole allocation once and keeps the
// mapping. An allocation that the exporter frees stays in use as long as it is mapped somewhere; so the exporter finds
// out (sweep_exports(), by the driver's buffer id, which differs for every allocation ever made) and tells those it
// gave the Export to, who unmap it (revoke_import()).
//
// Legacy IPC covers memory of cuMemAlloc and cudaMalloc; not pools, VMM ranges and managed memory.
// Owner: the tables are process-wide, until release_ipc(). A mapping in use is pinned and outlives its revocation until
// it is unpinned. Threads: library lock. No function here waits for the device, but opening and closing a mapping
// takes the driver a millisecond.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "mem/cuda/context.hpp"

namespace hr::mem::cuda {

// Trivially copyable: 88 bytes of a message.
struct Export {
  std::uint64_t id = 0;    // of the allocation in the exporter; 0: none
  std::uint64_t base = 0;  // its address there
  std::uint64_t bytes = 0;
  IpcHandle handle{};
};

// The allocation that `where` describes, for `process` (its number in the job).
// MPI_ERR_UNSUPPORTED_OPERATION for memory that IPC does not cover.
Status export_to(int process, const Location& where, Export* out);

// Who looks after what is handed out: told when the first allocation is (from then on sweep_exports() is to be called
// now and then, until there are no exports any more), and when one that was handed out to `process` has been freed.
struct ExportKeeper {
  void (*begin)() = nullptr;
  void (*revoke)(int process, std::uint64_t id) = nullptr;
};
void set_export_keeper(const ExportKeeper& keeper) noexcept;
// Looks for allocations handed out that are gone by now, tells, and forgets them. So does export_to() before it hands
// out a new one, which the driver may have put into the same block of memory.
void sweep_exports();
[[nodiscard]] bool any_exports() noexcept;

// An opened allocation of another process.
struct Mapping;
[[nodiscard]] DeviceAddress base_of(const Mapping& mapping) noexcept;

// Maps it for use in `context` (which must be current), or finds it in the cache; pinned until unpin().
// MPI_ERR_UNSUPPORTED_OPERATION where the driver refuses (no access between the devices, another container): the
// text says why; later calls for the same process and context fail at once.
Status map_import(Context& context, int process, const Export& what, Mapping** mapping);
void unpin(Mapping* mapping) noexcept;
void revoke_import(int process, std::uint64_t id) noexcept;

// Unmaps everything.
void release_ipc() noexcept;

}  // namespace hr::mem::cuda

// Maps memory of one process into another, with a bounded cache of mappings.
//
// The exporter sends an Export in a message; the importer maps that memory once and keeps the mapping. Memory that the
// exporter's program frees stays in use while it is mapped anywhere. So the exporter looks for freed allocations
// (sweep_exports(), with the driver's buffer id, which is unique among all allocations ever made) and notifies the
// processes that have the Export, which then unmap the memory (revoke_import()).
//
// Memory that the driver allocates in one call is exported with legacy IPC, one allocation at a time; chunked memory
// (VMM) with file descriptors (chunk_export.hpp), as many chunks as needed. Pool and managed memory cannot be exported.
// Owner: the tables belong to the state of mem/, until release_ipc(). A mapping in use is pinned and outlives its
// revocation until it is unpinned. Threads: library lock. No function here waits for the device, but opening and
// closing a mapping takes the driver a millisecond.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

// Trivially copyable; takes 88 bytes of a message.
struct Export {
  std::uint64_t id = 0;    // id of the allocation in the exporter; 0: none
  std::uint64_t base = 0;  // its address there
  std::uint64_t bytes : 56 = 0;
  std::uint64_t maker : 8 = 0;  // Driver::support: only processes with the same maker may open the handle
  IpcHandle handle{};           // or, for chunks, a ChunkTableName

  // Set in the id if this is a range of chunks instead of an allocation: the id is then the library's own, and equals
  // no buffer id.
  static constexpr std::uint64_t kChunks = std::uint64_t{1} << 63;
  [[nodiscard]] bool chunks() const noexcept { return (id & kChunks) != 0; }
  [[nodiscard]] bool covers(DeviceAddress begin, DeviceAddress end) const noexcept {
    return begin >= base && end <= base + bytes;
  }
};

// Addresses to be made accessible to other processes.
struct Range {
  DeviceAddress begin = 0;
  DeviceAddress end = 0;
};

// *out: receives the allocation that `where` describes, or the chunks that contain the range, for `processes` (their
// numbers in the job). Errors: MPI_ERR_UNSUPPORTED_OPERATION for memory that cannot be exported.
Status export_to(std::span<const int> processes, const Location& where, const Range& range, Export* out);
// Exports a whole allocation to one process.
Status export_to(int process, const Location& where, Export* out);
// True if export_to() is worth trying.
[[nodiscard]] bool exports_to(int process, const Location& where) noexcept;
// Records which memory of this process `process` cannot map.
void hide_from(int process, Unmappable what);

// Functions that are called to notify the layer above about exports.
struct ExportHooks {
  // Called when the first export is made: from then on sweep_exports() must be called regularly, until there are no
  // more exports.
  void (*begin)() = nullptr;
  // Called when an allocation exported to `process` has been freed.
  void (*revoke)(int process, std::uint64_t id) = nullptr;
  // Called when memory of `process` cannot be mapped here.
  void (*refuse)(int process, Unmappable what) = nullptr;
};
void set_export_hooks(const ExportHooks& hooks) noexcept;
// Looks for exported allocations that have been freed, calls `revoke` for them, and forgets them; if there are many
// exports, checks only a part of them each time. export_to() checks all of them before it exports another allocation,
// which the driver may have put into the same block of memory.
void sweep_exports();
[[nodiscard]] bool any_exports() noexcept;

// A mapping of another process's memory.
struct Mapping;
[[nodiscard]] DeviceAddress base_of(const Mapping& mapping) noexcept;

// Maps exported memory for use in `context` (which must be current), or finds it in the cache; pinned until unpin().
// Errors: MPI_ERR_UNSUPPORTED_OPERATION if the driver or the system refuses (no access between the devices, another
// container) or the process has devices of another maker, with the reason; later calls for the same process, context
// and kind of memory fail immediately.
Status map_import(Context& context, int process, const Export& what, Mapping** mapping);
void unpin(Mapping* mapping) noexcept;
void revoke_import(int process, std::uint64_t id) noexcept;

// Unmaps everything.
void release_ipc() noexcept;

}  // namespace hr::mem::device

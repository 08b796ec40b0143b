// Exports device memory that a program has assembled from chunks (VMM): opens a file
// descriptor for each chunk, and lists the descriptors in a table in this process's memory.
//
// The descriptors stay in this process. An importer reads the table, duplicates the descriptors, and reads the table's
// id again: if it is unchanged, the descriptors referred to those chunks throughout (chunk_import.cpp). This requires
// permission to trace this process, as does reading its host memory (process_vm_readv). An open descriptor keeps its
// chunk's memory in use even after the program has unmapped it: call ChunkExport::gone() regularly. Owner of the
// descriptors: the ChunkExports that share them. Tables and descriptors are limited in number; if none is left, memory
// is not exported. Exported memory stays exported until it is freed, as other processes may rely on it. Threads:
// library lock; the tables are read by other processes at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "mem/device.hpp"

namespace hr::mem::device {

inline constexpr std::size_t kMostChunks = 64;  // of one export

// Table of an export's chunks, read by importers.
struct ChunkTable {
  struct Entry {
    std::uint64_t bytes;
    std::int64_t descriptor;
  };
  std::uint64_t stamp;  // random number of this process; set once the table is in use
  std::uint64_t id;     // id of the Export; 0: table not in use
  std::uint64_t count;
  Entry chunks[kMostChunks];
};

// Location of the table, sent to importers instead of an IpcHandle.
struct ChunkTableName {
  std::uint64_t address;
  std::uint64_t stamp;
  std::int64_t process;  // pid
};

class ChunkExport {
 public:
  struct Chunk;  // chunk_export.cpp
  // Exports the chunks that contain [begin, end). Errors: MPI_ERR_UNSUPPORTED_OPERATION if they cannot be exported, are
  // too many, or are not consecutive.
  static Status make(DeviceAddress begin, DeviceAddress end, std::uint64_t id, std::unique_ptr<ChunkExport>* made);
  ~ChunkExport();
  ChunkExport(const ChunkExport&) = delete;
  ChunkExport& operator=(const ChunkExport&) = delete;

  [[nodiscard]] DeviceAddress base() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return chunks_.size(); }
  [[nodiscard]] ChunkTableName name() const noexcept;

  // True if [begin, end) overlaps each of these chunks and no other, and they are still those that were exported.
  // `first`: the buffer id of the memory at `begin` as far as the caller knows. (A range with more chunks would be
  // withdrawn if the program freed one that the caller does not use.)
  [[nodiscard]] bool holds(DeviceAddress begin, DeviceAddress end, std::uint64_t first) const noexcept;
  // True if at least one of the chunks no longer exists.
  [[nodiscard]] bool gone() const noexcept;

 private:
  ChunkExport() = default;
  static Status open(DeviceAddress address, std::shared_ptr<Chunk>* chunk);

  std::vector<std::shared_ptr<Chunk>> chunks_;
  ChunkTable* table_ = nullptr;
};

}  // namespace hr::mem::device

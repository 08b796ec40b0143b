// Exports device memory that a program has put together from chunks (cuMemCreate, cuMemMap; VMM): a file descriptor for
// each chunk, and a table in this process's memory that names them.
//
// The descriptors stay in this process. An importer reads the table, takes its own copies of the descriptors, and looks
// at the table again: if its id still stands there, the numbers have meant those chunks all the while
// (chunk_import.cpp). That needs the permission to trace this process, as single copies of host memory do.
// An open descriptor keeps its chunk's memory in use, also when the program has unmapped it: ask ChunkExport::gone()
// now and then.
// Owner of the descriptors: the ChunkExports that share them. Tables and descriptors are limited in number; memory
// above that is not exported, and exported memory stays so for as long as it lives: others may rely on it.
// Threads: library lock; the tables are read by other processes at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "mem/cuda/driver.hpp"

namespace hr::mem::cuda {

inline constexpr std::size_t kMostChunks = 64;  // of one export

// Table that importers read.
struct ChunkTable {
  struct Entry {
    std::uint64_t bytes;
    std::int64_t descriptor;
  };
  std::uint64_t stamp;  // a number that no other process has here, once the table is in use
  std::uint64_t id;     // of the Export; 0: of none
  std::uint64_t count;
  Entry chunks[kMostChunks];
};

// Place where importers find the table; travels instead of an IpcHandle.
struct ChunkTableName {
  std::uint64_t address;
  std::uint64_t stamp;
  std::int64_t process;  // its number in the system
};

class ChunkExport {
 public:
  struct Chunk;  // chunk_export.cpp
  // Exports the chunks that [begin, end) lies in. MPI_ERR_UNSUPPORTED_OPERATION: they cannot be exported, are too many,
  // or do not follow one another.
  static Status make(DeviceAddress begin, DeviceAddress end, std::uint64_t id, std::unique_ptr<ChunkExport>* made);
  ~ChunkExport();
  ChunkExport(const ChunkExport&) = delete;
  ChunkExport& operator=(const ChunkExport&) = delete;

  [[nodiscard]] DeviceAddress base() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return chunks_.size(); }
  [[nodiscard]] ChunkTableName name() const noexcept;

  // True if [begin, end) lies in these chunks, no more and no fewer, and they are still those that were exported.
  // `first`: the buffer id of the memory at `begin` as far as the caller knows. (A range that had more chunks could go
  // with one that the caller does not use, while others rely on it.)
  [[nodiscard]] bool holds(DeviceAddress begin, DeviceAddress end, std::uint64_t first) const noexcept;
  // True if some of the chunks are not there any more.
  [[nodiscard]] bool gone() const noexcept;

 private:
  ChunkExport() = default;
  static Status open(DeviceAddress address, std::shared_ptr<Chunk>* chunk);

  std::vector<std::shared_ptr<Chunk>> chunks_;
  ChunkTable* table_ = nullptr;
};

}  // namespace hr::mem::cuda

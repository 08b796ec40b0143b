// Device memory that a program has put together from chunks (cuMemCreate, cuMemMap; VMM), for other processes: a file
// descriptor for each chunk, and a table in this process's memory that says which ones.
//
// The descriptors stay in this process. An importer reads the table, takes its own copies of the descriptors, and looks
// at the table again: if its id still stands there, the numbers have meant those chunks all the while
// (chunk_import.cpp). That needs the permission to trace this process, as single copies of host memory do.
// An open descriptor keeps its chunk's memory in use, also when the program has unmapped it: ChunkExport::gone() is to
// be asked now and then.
// Owner: of the descriptors, the ChunkExports that share them. Tables and descriptors are limited in number; memory
// above that is not exported, and what is exported stays so for as long as the memory lives: others may rely on it.
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

// What importers read.
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

// Where they find it; travels in the place of an IpcHandle.
struct ChunkTableName {
  std::uint64_t address;
  std::uint64_t stamp;
  std::int64_t process;  // its number in the system
};

class ChunkExport {
 public:
  struct Chunk;  // chunk_export.cpp
  // The chunks that [begin, end) lies in. MPI_ERR_UNSUPPORTED_OPERATION where they cannot be exported, are too many, or
  // do not follow one another.
  static Status make(DeviceAddress begin, DeviceAddress end, std::uint64_t id, std::unique_ptr<ChunkExport>* made);
  ~ChunkExport();
  ChunkExport(const ChunkExport&) = delete;
  ChunkExport& operator=(const ChunkExport&) = delete;

  [[nodiscard]] DeviceAddress base() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return chunks_.size(); }
  [[nodiscard]] ChunkTableName name() const noexcept;

  // The chunks that [begin, end) lies in are these, no more and no fewer, and still what was exported. `first`: the
  // buffer id of the memory at `begin` as far as the caller knows. (A range that had more chunks could go with one that
  // the caller does not use, while others rely on it.)
  [[nodiscard]] bool holds(DeviceAddress begin, DeviceAddress end, std::uint64_t first) const noexcept;
  // Some of the chunks are not there any more.
  [[nodiscard]] bool gone() const noexcept;

 private:
  ChunkExport() = default;
  static Status open(DeviceAddress address, std::shared_ptr<Chunk>* chunk);

  std::vector<std::shared_ptr<Chunk>> chunks_;
  ChunkTable* table_ = nullptr;
};

}  // namespace hr::mem::cuda

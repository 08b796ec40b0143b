// Chunks: staging memory of this process, cut into pieces of equal size that are lent to receivers and returned.
//
// There is one Chunks object of shared memory, page-locked at its first use by a device, and one of device memory for
// each GPU context that sends from memory that peers cannot map. Owner: staged_send.cpp. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/view.hpp"
#include "mem/device/exported_buffer.hpp"
#include "mem/device/pinned.hpp"

namespace hr::p2p::staged {

class Chunks {
 public:
  Chunks() = default;
  explicit Chunks(std::span<std::byte> shared);
  // Allocates memory on the device of `like`. Errors: the driver's.
  Status allocate(const mem::Location& like);

  // Returns the id of this memory in wire::Piece.
  [[nodiscard]] std::uint64_t id() const noexcept { return device_.id(); }
  [[nodiscard]] const mem::device::ExportedBuffer& device() const noexcept { return device_; }
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  // Returns the size of the pieces of a message: small enough for several to be in flight at a time. `by_cpu`: the CPU
  // of one of the processes copies.
  [[nodiscard]] std::size_t piece_bytes(std::size_t message_bytes, bool by_cpu) const noexcept;

  // Pins shared memory for copies by devices.
  Status pin(const layout::View& view);
  // Return the address of a chunk: host() for the CPU (shared memory), address() for devices.
  [[nodiscard]] std::byte* host(std::uint32_t chunk) const noexcept { return shared_.data() + chunk * chunk_bytes_; }
  [[nodiscard]] mem::device::DeviceAddress address(std::uint32_t chunk) const noexcept {
    return (shared_.empty() ? device_.address() : pinned_.address()) + chunk * chunk_bytes_;
  }

  // Returns the offset of a chunk in the memory, for another process.
  [[nodiscard]] std::size_t at(std::uint32_t chunk) const noexcept {
    return chunk * chunk_bytes_ + (shared_.empty() ? device_.offset() : 0);
  }

  // Takes a chunk; false if none is free.
  bool take(std::uint32_t* chunk);
  void give(std::uint32_t chunk);
  // Records that `proc` holds the chunk, until it is returned or the process has failed.
  void lend(std::uint32_t chunk, int proc) { holders_[chunk] = proc; }
  [[nodiscard]] bool is_with(int proc, std::uint32_t chunk) const noexcept {
    return chunk < holders_.size() && holders_[chunk] == proc;
  }
  void take_from(int proc);
  [[nodiscard]] bool all_free() const noexcept { return free_.size() == count_; }
  // Returns the time at which the last free chunk was taken, or one was returned.
  [[nodiscard]] double moved_at() const noexcept { return moved_at_; }

 private:
  void cut(std::size_t chunk_bytes, std::size_t count);

  std::span<std::byte> shared_;
  mem::device::PinnedRange pinned_;
  mem::device::ExportedBuffer device_;
  std::size_t chunk_bytes_ = 0;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> free_;
  std::vector<int> holders_;  // indexed by chunk; -1: this process
  double moved_at_ = 0;
};

}  // namespace hr::p2p::staged

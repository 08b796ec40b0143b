// Chunks: staging memory of this process, cut into pieces of equal size through which data passes.
//
// The memory is one of three kinds: pages of this process, memory that the processes of the host share, or device
// memory that others map. Host memory is page-locked when a device first uses it. A chunk is taken for a piece of data
// and given back once the data has left it. Meanwhile it can be lent to another process, and is given back if that
// process fails. Owner: the protocol or the operation that moves the data. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffered.hpp"
#include "layout/view.hpp"
#include "mem/device/exported_buffer.hpp"
#include "mem/device/pinned.hpp"
#include "p2p/core/pages.hpp"

namespace hr::p2p {

class Chunks {
 public:
  // Only one of these three is called, and only once. take_pages(): false if there is no memory. use(): cuts memory of
  // another owner. allocate(): takes device memory where `like` is; errors: the driver's.
  [[nodiscard]] bool take_pages(std::size_t chunk_bytes, std::size_t count);
  void use(std::span<std::byte> memory, std::size_t chunk_bytes);
  Status allocate(const mem::Location& like, std::size_t chunk_bytes, std::size_t count);

  // Device memory, and its id in wire::Piece; 0 for host memory.
  [[nodiscard]] const mem::device::ExportedBuffer& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return device_.id(); }
  [[nodiscard]] bool on_device() const noexcept { return host_.empty(); }
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  // Returns the size of the pieces of a message, small enough for several to be pending at once: from `least`, the
  // smallest size worth a separate copy, to the size of a chunk.
  [[nodiscard]] std::size_t piece_bytes(std::size_t message_bytes, std::size_t least) const noexcept;

  // Pins host memory for copies of views like this one, unless it is pinned already.
  Status pin(const layout::View& view);
  // Return the address of a chunk: host() for the CPU (host memory only), address() for devices.
  [[nodiscard]] std::byte* host(std::uint32_t chunk) const noexcept { return host_.data() + chunk * chunk_bytes_; }
  [[nodiscard]] mem::device::DeviceAddress address(std::uint32_t chunk) const noexcept {
    return (on_device() ? device_.address() : pinned_.address()) + chunk * chunk_bytes_;
  }
  // Returns the offset of a chunk in the memory, for another process.
  [[nodiscard]] std::size_t at(std::uint32_t chunk) const noexcept {
    return chunk * chunk_bytes_ + (on_device() ? device_.offset() : 0);
  }

  // Takes a chunk; false if none is free.
  [[nodiscard]] bool take(std::uint32_t* chunk);
  void give(std::uint32_t chunk);
  // Records that process `proc` has the chunk, until it is given back or the process has failed.
  void lend(std::uint32_t chunk, int proc) { holders_[chunk] = proc; }
  [[nodiscard]] bool is_with(int proc, std::uint32_t chunk) const noexcept {
    return chunk < holders_.size() && holders_[chunk] == proc;
  }
  void take_from(int proc);
  [[nodiscard]] bool all_free() const noexcept { return free_.size() == holders_.size(); }
  // Returns the time at which a chunk was last given back, or the last free chunk was taken, whichever was later.
  [[nodiscard]] double moved_at() const noexcept { return moved_at_; }

 private:
  void cut(std::size_t chunk_bytes, std::size_t count);

  Pages pages_;
  Buffered buffered_{counters::Buffers::kPinned};  // the pages
  std::span<std::byte> host_;
  mem::device::PinnedRange pinned_;  // destroyed before the pages
  mem::device::ExportedBuffer device_;
  std::size_t chunk_bytes_ = 0;
  std::vector<std::uint32_t> free_;
  std::vector<int> holders_;  // indexed by chunk; -1: this process
  double moved_at_ = 0;
};

}  // namespace hr::p2p

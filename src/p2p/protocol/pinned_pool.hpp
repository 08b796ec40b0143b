// PinnedPool: chunks of pinned host memory of this process, for data in transit between a device and the network.
//
// Owner: network_staged.cpp; the memory is allocated on first use. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/device/chunk_copy.hpp"
#include "layout/view.hpp"
#include "mem/device/pinned.hpp"
#include "p2p/core/pages.hpp"

namespace hr::p2p {

class PinnedPool {
 public:
  PinnedPool(std::size_t chunk_bytes, std::size_t count);

  // Takes a chunk; false if none is free.
  bool take(std::uint32_t* chunk);
  void give(std::uint32_t chunk) { free_.push_back(chunk); }
  [[nodiscard]] bool usable() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  [[nodiscard]] std::byte* host(std::uint32_t chunk) const noexcept { return memory_.get() + chunk * chunk_bytes_; }
  // Pins the memory for copies of views like this one, unless it is already pinned.
  Status pin(const layout::View& view);
  [[nodiscard]] mem::device::DeviceAddress address(std::uint32_t chunk) const noexcept {
    return pinned_.address() + chunk * chunk_bytes_;
  }

 private:
  std::size_t chunk_bytes_;
  std::size_t count_;
  Pages memory_;                     // null: could not be allocated
  mem::device::PinnedRange pinned_;  // destroyed before the memory
  std::vector<std::uint32_t> free_;
};

}  // namespace hr::p2p

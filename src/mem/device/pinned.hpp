// PinnedRange: host memory that this process has registered with the driver, so that devices read and write it at full
// speed and without the CPU.
//
// Owner: the owner of the memory's mapping, which must outlive the PinnedRange. The registration is valid in all
// contexts, but ends with the context in which it was made; pin() then registers the memory again. Threads: library
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

class PinnedRange {
 public:
  PinnedRange() = default;
  ~PinnedRange() { release(); }
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;

  // Pins whole pages, all of them present; every call must name the same memory. Does nothing if it is pinned already.
  // The context must be current.
  Status pin(Context& context, std::span<std::byte> memory);
  // Address of the first byte, for devices.
  [[nodiscard]] DeviceAddress address() const noexcept { return address_; }

 private:
  void release() noexcept;

  ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  std::byte* memory_ = nullptr;  // null: not registered
  DeviceAddress address_ = 0;
};

}  // namespace hr::mem::device

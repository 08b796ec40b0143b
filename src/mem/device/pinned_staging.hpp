// PinnedStaging: pinned host memory for the duration of a transfer, taken from the context's cache and returned to it.
// The knob device_staging_bytes limits the cache.
//
// Owner: the code that moves data through it; the work that uses the memory must be done before the PinnedStaging is
// destroyed. It may outlive the context, in which case the driver has freed the memory. Threads: library lock.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

class PinnedStaging {
 public:
  PinnedStaging() = default;
  ~PinnedStaging() { give_back(); }
  PinnedStaging(const PinnedStaging&) = delete;
  PinnedStaging& operator=(const PinnedStaging&) = delete;

  // Takes at least `bytes`, aligned to a page. The context must be current.
  Status take(Context& context, std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
  // Address for devices.
  [[nodiscard]] DeviceAddress address() const noexcept { return reinterpret_cast<std::uintptr_t>(memory_.data()); }

 private:
  void give_back() noexcept;

  ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  std::span<std::byte> memory_;
};

}  // namespace hr::mem::device

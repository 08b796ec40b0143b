// The library's device memory: for the duration of a transfer (Staging), or until its owner frees it (DeviceBuffer).
// Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

// Device memory for staging, taken from the context's cache and returned to it; the knob device_staging_bytes limits
// the cache. The work that used the memory must be done, or ordered before the next use on stream().
class Staging {
 public:
  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Takes at least `bytes`, aligned to 256. The context must be current here and at destruction.
  Status take(Context& context, std::size_t bytes);
  [[nodiscard]] DeviceAddress address() const noexcept { return buffer_.address; }

 private:
  Context* context_ = nullptr;
  Context::Buffer buffer_;
};

// Device memory whose owner may outlive the context. The destructor frees the memory if the context still exists;
// otherwise the memory was freed with the context. Movable.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : context_(other.context_), id_(other.id_), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer();

  // The context must be current.
  Status allocate(Context& context, std::size_t size);
  // Allocates and fills from host memory; the copy is done on return. The context must be current.
  Status fill(Context& context, const void* bytes, std::size_t size);
  [[nodiscard]] bool belongs_to(const Context& context) const noexcept {
    return address_ != 0 && context_ == context.handle() && id_ == context.id();
  }
  [[nodiscard]] DeviceAddress address() const noexcept { return address_; }

 private:
  ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  DeviceAddress address_ = 0;
  std::size_t bytes_ = 0;
};

// Returns the size of the largest piece that a transfer stages at a time.
std::size_t staging_piece() noexcept;

}  // namespace hr::mem::device

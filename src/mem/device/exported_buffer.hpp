// ExportedBuffer: the library's device memory that other processes map, for data that they cannot access in place.
//
// Owner: its user. The memory is freed with the ExportedBuffer, or with the context if that is destroyed first.
// Threads: library lock.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "mem/device/device_buffer.hpp"
#include "mem/device/ipc.hpp"

namespace hr::mem::device {

class ExportedBuffer {
 public:
  // Allocates in the context used for memory at `like`.
  Status allocate(const Location& like, std::size_t bytes);
  // True if the buffer still exists, in the context used for memory at `like`.
  [[nodiscard]] bool serves(const Location& like) const;
  Status export_to(int process, Export* out) const { return device::export_to(process, where_, out); }
  [[nodiscard]] std::uint64_t id() const noexcept { return where_.id; }  // of its Export
  // Offset of address() in its Export.
  [[nodiscard]] std::size_t offset() const noexcept {
    return static_cast<std::size_t>(buffer_.address()) - where_.base;
  }
  [[nodiscard]] DeviceAddress address() const noexcept { return buffer_.address(); }

 private:
  DeviceBuffer buffer_;
  Location where_;
};

}  // namespace hr::mem::device

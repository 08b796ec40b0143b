// DeviceMemory: a piece of memory of any kind for tests, and the list of kinds that this machine has.
//
// Works with any libcuda.so.1 that is found: the fake driver or a real one. Device memory is filled and read only
// through the driver. Owner: RAII. Threads: the caller's context (gpu::select, gpu::bind_thread) must be current.
#pragma once

#include <cstddef>
#include <cstring>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "../../apps/common/gpu.hpp"

namespace hr::test {

enum class MemoryKind { kHost, kHostRegistered, kHostPinned, kManaged, kDevice, kPool, kVmm, kVmmPrivate };

inline constexpr MemoryKind kAllKinds[] = {MemoryKind::kHost,    MemoryKind::kHostRegistered, MemoryKind::kHostPinned,
                                           MemoryKind::kManaged, MemoryKind::kDevice,         MemoryKind::kPool,
                                           MemoryKind::kVmm,     MemoryKind::kVmmPrivate};
inline constexpr MemoryKind kDeviceKinds[] = {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kVmm,
                                              MemoryKind::kVmmPrivate};

inline const char* name_of(MemoryKind kind) {
  constexpr const char* kNames[] = {"host", "host-registered", "host-pinned", "managed", "device", "pool",
                                    "vmm",  "vmm-private"};
  return kNames[static_cast<int>(kind)];
}
inline std::ostream& operator<<(std::ostream& out, MemoryKind kind) { return out << name_of(kind); }

class DeviceMemory {
 public:
  DeviceMemory(std::size_t bytes, MemoryKind kind, int device = 0) : bytes_(bytes), kind_(kind), device_(device) {
    if (kind == MemoryKind::kHost) {
      pointer_ = std::malloc(bytes);
      return;
    }
    const int selected = gpu::device();
    gpu::select(device);
    pointer_ = gpu::allocate(bytes, gpu_kind());
    if (selected >= 0) gpu::select(selected);
  }
  ~DeviceMemory() {
    if (kind_ == MemoryKind::kHost) {
      std::free(pointer_);
    } else {
      gpu::free(pointer_);
    }
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] void* get() const { return pointer_; }
  [[nodiscard]] std::byte* bytes() const { return static_cast<std::byte*>(pointer_); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] MemoryKind kind() const { return kind_; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] bool cpu_accessible() const { return kind_ <= MemoryKind::kManaged; }

  void write(std::span<const std::byte> from, std::size_t offset = 0) {
    if (cpu_accessible()) {
      std::memcpy(bytes() + offset, from.data(), from.size());
    } else {
      on_device([&] { gpu::copy(bytes() + offset, from.data(), from.size()); });
    }
  }
  void fill(unsigned char value) {
    if (cpu_accessible()) {
      std::memset(pointer_, value, bytes_);
    } else {
      on_device([&] { gpu::fill(pointer_, value, bytes_); });
    }
  }
  [[nodiscard]] std::vector<std::byte> read() const {
    std::vector<std::byte> content(bytes_);
    if (cpu_accessible()) {
      std::memcpy(content.data(), pointer_, bytes_);
    } else {
      on_device([&] { gpu::copy(content.data(), pointer_, bytes_); });
    }
    return content;
  }

 private:
  [[nodiscard]] gpu::Memory gpu_kind() const {
    switch (kind_) {
      case MemoryKind::kHostRegistered:
        return gpu::Memory::kHostRegistered;
      case MemoryKind::kHostPinned:
        return gpu::Memory::kHostPinned;
      case MemoryKind::kManaged:
        return gpu::Memory::kManaged;
      case MemoryKind::kPool:
        return gpu::Memory::kPool;
      case MemoryKind::kVmm:
        return gpu::Memory::kVmm;
      case MemoryKind::kVmmPrivate:
        return gpu::Memory::kVmmPrivate;
      default:
        return gpu::Memory::kDevice;
    }
  }
  template <class Work>
  void on_device(const Work& work) const {
    const int selected = gpu::device();
    gpu::select(device_);
    work();
    gpu::select(selected);
  }

  std::size_t bytes_;
  MemoryKind kind_;
  int device_;
  void* pointer_ = nullptr;
};

}  // namespace hr::test

// How much memory of the devices is in use, over all processes.
#pragma once

#include <cstdint>

#include "../../apps/common/gpu.hpp"
#include "driver_function.hpp"

namespace hr::test {

// Bytes on all devices that this process sees; the selected device stays selected.
inline std::uint64_t memory_in_use() {
  static auto* info = driver_function<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2");
  const int selected = gpu::device();
  std::uint64_t sum = 0;
  for (int device = 0; device < gpu::device_count(); ++device) {
    gpu::select(device);
    gpu::synchronize();  // pools give back what was freed
    std::size_t free = 0, total = 0;
    gpu::check(info(&free, &total), "cuMemGetInfo");
    sum += total - free;
  }
  gpu::select(selected);
  return sum;
}

inline bool on_fake_driver() { return gpu::device_name().rfind("Fake", 0) == 0; }

}  // namespace hr::test

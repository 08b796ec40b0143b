// Memory in use on the selected device, over all processes.
#pragma once

#include <cstdint>

#include "../../apps/common/gpu.hpp"
#include "driver_function.hpp"

namespace hr::test {

// Only for the device of this process: a query of another device would create a context there, which takes memory.
inline std::uint64_t memory_in_use() {
  using Info = int(std::size_t*, std::size_t*);
  static auto* const info = gpu::detail::driver().by_hip
                                ? reinterpret_cast<Info*>(gpu::detail::hip().find("hipMemGetInfo"))
                                : driver_function<Info>("cuMemGetInfo_v2");
  gpu::synchronize();  // pools give freed memory back
  std::size_t free = 0, total = 0;
  gpu::check(info(&free, &total), "cuMemGetInfo");
  return total - free;
}

inline bool on_fake_driver() { return gpu::device_name().rfind("Fake", 0) == 0; }

}  // namespace hr::test

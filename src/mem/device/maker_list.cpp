#include "mem/device/maker_list.hpp"

#include "mem/cuda/maker.hpp"
#include "mem/hip/maker.hpp"

namespace hr::mem::device {

std::span<const Maker* const> makers() noexcept {
  static constexpr const Maker* kMakers[] = {&cuda::kMaker, &hip::kMaker};
  return kMakers;
}

const char* maker_name(int support) noexcept {
  for (const Maker* const maker : makers()) {
    if (maker->support == support) return maker->name;
  }
  return "unknown";
}

}  // namespace hr::mem::device

// The makers of devices that the library knows, in the order in which they are tried. Owner: none; constant. Threads:
// any.
#pragma once

#include <span>

#include "mem/device.hpp"

namespace hr::mem::device {

[[nodiscard]] std::span<const Maker* const> makers() noexcept;
// Returns the name of the maker with this MPIX_GPU_SUPPORT_* number.
[[nodiscard]] const char* maker_name(int support) noexcept;

}  // namespace hr::mem::device

// What the copy kernels are told about a view, and the launch itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "copy_arguments.hpp"
#include "layout/view.hpp"
#include "mem/cuda/context.hpp"

namespace hr::layout::cuda {

// One side of a copy: a view, or the packed form itself at `address` (of packed byte `first`; the address must have
// the remainder of `first` modulo 16).
struct SideSource {
  const View* view = nullptr;
  mem::cuda::DeviceAddress address = 0;
  static SideSource of(const View& view) noexcept { return {&view, 0}; }
  static SideSource packed(mem::cuda::DeviceAddress address) noexcept { return {nullptr, address}; }
};

// Moves packed bytes [first, first + bytes) from one side to the other by one kernel on the context's stream; does not
// wait. `launched` stays false where the context has no kernels. The context must be current.
Status launch_copy(mem::cuda::Context& context, const SideSource& from, const SideSource& to, std::size_t first,
                   std::size_t bytes, bool* launched);

}  // namespace hr::layout::cuda

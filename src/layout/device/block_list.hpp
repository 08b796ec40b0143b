// BlockList: a layout's block list as the copy kernels read it, resident on the devices that have used it.
//
// Offsets are kept relative to the first block, so that types with absolute addresses (MPI_BOTTOM) need no addresses in
// device memory. An index holds, for each 2^index_shift packed bytes, the block that contains the first of them, so
// that a kernel thread searches only a block or two.
//
// Owner: Layout::device, one per layout; created when the layout is first used on a device, and freed with it, on each
// device whose context still exists. Threads: under the library lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "layout/canonical.hpp"
#include "mem/device/device_buffer.hpp"

namespace hr::layout::device {

class BlockList final : public DeviceMetadata {
 public:
  struct Resident {
    mem::device::DeviceAddress blocks = 0;  // kernels::ListedBlock[]
    mem::device::DeviceAddress index = 0;   // std::uint32_t[]
    std::uint32_t index_shift = 0;
  };
  // *resident: receives the lists of this layout in this context, which must be current. They are copied there on first
  // use.
  static Status of(const Layout& layout, mem::device::Context& context, Resident* resident);

 private:
  struct Copy {
    mem::device::DeviceBuffer memory;
    Resident resident;
  };
  static Status upload(const Layout& layout, mem::device::Context& context, Copy* copy);

  std::vector<Copy> copies_;
};

}  // namespace hr::layout::device

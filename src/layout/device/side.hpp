// Describes the two sides of a copy to the copy kernels, and launches them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "copy_arguments.hpp"
#include "layout/view.hpp"
#include "mem/device/context.hpp"

namespace hr::layout::device {

// One side of a copy: locates the n-th byte of the packed form. It contains only numbers and is trivially copyable, so
// it may be sent to another process, which adjusts the three addresses to its mappings. Borrows the memory that they
// point to.
struct SideShape {
  static constexpr std::int32_t kLinear = -1;

  std::uint64_t address =
      0;  // linear: address of packed byte `first`; else of the first segment, or the base of block offsets
  std::uint64_t first = 0;  // linear only
  std::uint32_t unit = 16;  // widest access in bytes, a power of two
  std::int32_t ndims = kLinear;
  // The fields below are not used for a linear side.
  std::uint64_t total = 0;    // packed bytes
  std::uint64_t pattern = 0;  // packed bytes of one pattern
  std::uint64_t uniform = 0;  // bytes of each block if they are equal
  std::uint64_t blocks = 0;   // BlockList::Resident; 0: the pattern is one segment
  std::uint64_t index = 0;
  std::uint64_t index_shift = 0;
  struct {
    std::uint64_t count;
    std::int64_t stride;            // bytes
  } dims[kernels::kSideDims] = {};  // innermost first

  [[nodiscard]] bool linear() const noexcept { return ndims == kLinear; }
};

// *side: describes a view on the device of `context`, which must be current (a block list is copied to it on first
// use).
Status side_of(const View& view, mem::device::Context& context, SideShape* side);
// Returns a side that is the packed form itself, with byte `first` at `address`. Accesses are wide if `first` and
// `address` are equal modulo 16. The address may also be that of host memory registered with the driver.
SideShape packed_side(mem::device::DeviceAddress address, std::size_t first) noexcept;

// True if one kernel of `context` may access a view that belongs to `other_context` (perhaps the same). Only the owner
// can grant access to pool or VMM memory on a peer device, so access is not assumed. The first context must be current.
[[nodiscard]] bool reachable(mem::device::Context& context, const View& other, mem::device::Context& other_context);

// True if launch_copy() works in this context. The context must be current.
[[nodiscard]] bool has_copy_kernels(mem::device::Context& context);

// Returns the arguments of a kernel that moves packed bytes [first, first + bytes) from one side to the other;
// `blocks`: number of thread blocks, one thread per element.
[[nodiscard]] kernels::CopyArguments copy_arguments(const SideShape& from, const SideShape& to, std::size_t first,
                                                    std::size_t bytes) noexcept;
// Returns the number of blocks that fill the context's device.
[[nodiscard]] unsigned copy_blocks(const mem::device::Context& context) noexcept;

// Moves packed bytes [first, first + bytes) from one side to the other with one kernel on a stream of the context,
// which must be current; does not wait. *launched stays false if the context has no kernels.
Status launch_copy(mem::device::Context& context, mem::device::StreamHandle stream, const SideShape& from,
                   const SideShape& to, std::size_t first, std::size_t bytes, bool* launched);

}  // namespace hr::layout::device

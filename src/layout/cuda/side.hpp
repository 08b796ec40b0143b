// Describes the two sides of a copy to the copy kernels, and launches them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "copy_arguments.hpp"
#include "layout/view.hpp"
#include "mem/cuda/context.hpp"

namespace hr::layout::cuda {

// One side of a copy: tells where the n-th byte of the packed form lies. Numbers only, trivially copyable: it may
// travel to another process, which moves the three addresses to where it has mapped them. Borrows the memory they point
// to.
struct SideShape {
  static constexpr std::int32_t kLinear = -1;

  std::uint64_t address = 0;  // linear: of packed byte `first`; else of the first run, or the base of block offsets
  std::uint64_t first = 0;    // linear only
  std::uint32_t unit = 16;    // widest access in bytes, a power of two
  std::int32_t ndims = kLinear;
  // The rest means nothing for a linear side.
  std::uint64_t total = 0;    // packed bytes
  std::uint64_t pattern = 0;  // packed bytes of one pattern
  std::uint64_t uniform = 0;  // bytes of each block if they are equal
  std::uint64_t blocks = 0;   // BlockList::Resident; 0: the pattern is one run
  std::uint64_t index = 0;
  std::uint64_t index_shift = 0;
  struct {
    std::uint64_t count;
    std::int64_t stride;            // bytes
  } dims[kernels::kSideDims] = {};  // innermost first

  [[nodiscard]] bool linear() const noexcept { return ndims == kLinear; }
};

// *side: that of a view on the device of `context`, which must be current (a block list is copied to it at first use).
Status side_of(const View& view, mem::cuda::Context& context, SideShape* side);
// Returns the packed form itself, of which byte `first` lies at `address`. Accesses are wide if the address has the
// remainder of `first` modulo 16. The address may also be of host memory known to the driver.
SideShape packed_side(mem::cuda::DeviceAddress address, std::size_t first) noexcept;

// True if one kernel of a context may touch a view that another context (or the same) works on. Only its owner can give
// access to a peer's pool or VMM memory, so it is not assumed. The first context must be current.
[[nodiscard]] bool reachable(mem::cuda::Context& context, const View& other, mem::cuda::Context& other_context);

// True if launch_copy() works there. The context must be current.
[[nodiscard]] bool has_copy_kernels(mem::cuda::Context& context);

// Returns the arguments of a kernel that moves packed bytes [first, first + bytes) from one side to the other; `blocks`
// are as many as would have an element for every thread.
[[nodiscard]] kernels::CopyArguments copy_arguments(const SideShape& from, const SideShape& to, std::size_t first,
                                                    std::size_t bytes) noexcept;
// Returns the number of blocks that fill the context's device.
[[nodiscard]] unsigned copy_blocks(const mem::cuda::Context& context) noexcept;

// Moves packed bytes [first, first + bytes) from one side to the other by one kernel on a stream of the context, which
// must be current; does not wait. `launched` stays false if the context has no kernels.
Status launch_copy(mem::cuda::Context& context, mem::cuda::StreamHandle stream, const SideShape& from,
                   const SideShape& to, std::size_t first, std::size_t bytes, bool* launched);

}  // namespace hr::layout::cuda

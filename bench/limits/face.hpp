// A face of a cube, filled in by the host and read by limits/kernels.cu.
#pragma once

namespace bench {

// `outer` segments of `inner` words. All counts, strides and positions are in words. Plain 32-bit members, so that the
// fake driver mistakes none of them for an address.
struct Face {
  unsigned outer, inner, outer_stride, inner_stride;
  unsigned from, to;  // position of the first word in the two cubes
};

}  // namespace bench

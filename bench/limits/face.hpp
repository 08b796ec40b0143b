// A face of a cube as limits/kernels.cu walks it: what the host fills and the kernels read.
#pragma once

namespace bench {

// `outer` runs of `inner` words. All counts, strides and places are in words. Plain 32-bit members, so that the fake
// driver takes nothing here for an address.
struct Face {
  unsigned outer, inner, outer_stride, inner_stride;
  unsigned from, to;  // of the first word, in the two cubes
};

}  // namespace bench

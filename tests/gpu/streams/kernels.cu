// Work of a program around enqueued operations. Each kernel can be delayed, so that a missing wait is detected.
#include "portability.hpp"

namespace {

HR_DEVICE void dawdle(unsigned spins) {
  volatile unsigned spent = 0;
  while (spent < spins) spent = spent + 1;
}

}  // namespace

// data[i] = first + i
HR_KERNEL(streams_fill, (std::uint32_t* data, unsigned count, std::uint32_t first, unsigned spins)) {
  if (threadIdx.x == 0) dawdle(spins);
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) data[i] = first + i;
}

// to[i] = from[i] + more
HR_KERNEL(streams_copy,
          (std::uint32_t* to, const std::uint32_t* from, unsigned count, std::uint32_t more, unsigned spins)) {
  if (threadIdx.x == 0) dawdle(spins);
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i] + more;
}

// to[i] += from[i], and adds one to every element of `step`
HR_KERNEL(streams_step, (std::uint32_t* to, const std::uint32_t* from, std::uint32_t* step, unsigned count)) {
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    to[i] += from[i];
    step[i] += 1;
  }
}

// Kernels at the two ends of a partitioned message, one thread block per partition.
#include "portability.hpp"
//
#include "../../../include/mpix-device.h"

namespace {

HR_DEVICE std::uint32_t item(std::uint32_t seed, unsigned i) { return seed * 2654435761u + i * 2246822519u; }

HR_DEVICE void wait_for_block() {
#if defined(__CUDACC__)
  __syncthreads();
#endif
}

}  // namespace

// Writes its partition. The last thread marks it as ready, since threads run one at a time on the host.
HR_KERNEL(partitioned_produce, (std::uint32_t* data, unsigned elements, std::uint32_t seed, MPIX_Prequest request)) {
  const unsigned first = blockIdx.x * elements;
  for (unsigned i = threadIdx.x; i < elements; i += blockDim.x) data[first + i] = item(seed, first + i);
  wait_for_block();
  if (threadIdx.x + 1 == blockDim.x) MPIX_Pready(static_cast<int>(blockIdx.x), request);
}

// Tests up to `asks` times whether its partition has arrived; if it has, counts the wrong elements.
HR_KERNEL(partitioned_consume, (const volatile std::uint32_t* data, unsigned elements, std::uint32_t seed,
                                unsigned* wrong, unsigned asks, MPIX_Prequest request)) {
  if (threadIdx.x != 0) return;
  while (MPIX_Parrived(request, static_cast<int>(blockIdx.x)) == 0) {
    if (asks-- == 0) return;
  }
  const unsigned first = blockIdx.x * elements;
  unsigned found = 0;
  for (unsigned i = 0; i < elements; ++i) found += data[first + i] != item(seed, first + i) ? 1u : 0u;
  wrong[blockIdx.x] = found;
}

// matched_look: polls for matched messages for a short while, before the stream waits for them. A stream that has to
// wait is resumed late; the single block of this kernel sees the words sooner. In any case it ends soon, so it never
// blocks work that needs the device.
#include "matched_copy.hpp"
#include "matched_look_arguments.hpp"
#include "portability.hpp"

HR_KERNEL(hr_matched_look, (HR_CONSTANT hr::kernels::MatchedLook what)) {
  if (threadIdx.x >= what.count) return;
#if defined(__CUDACC__)
  const auto now = [] {
    std::uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
  };
  const auto* const word = reinterpret_cast<const std::uint32_t*>(what.words[threadIdx.x]);
  const std::uint64_t begun = now();
  while (hr::matched_kernels::look(word) == 0 && now() - begun < hr::kernels::kMatchedLookNanoseconds) {
  }
#endif
}

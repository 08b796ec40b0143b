// paired: moves messages of matched pairs between a buffer and a slot, a block for each message. The stream has waited
// until a slot is ready, so nothing waits here.
#include "paired_arguments.hpp"
#include "portability.hpp"

namespace {

using hr::kernels::kPairedReleased;
using hr::kernels::kPairedSlots;
using hr::kernels::PairedMove;
using hr::kernels::PairedMoves;
using hr::kernels::PairedWords;

struct alignas(16) PairedBytes16 {
  std::uint64_t low, high;
};

#if defined(__CUDACC__)
// Orders the copies of all threads before what the last thread does next, for every device.
HR_DEVICE void finish_copies() {
  __threadfence_system();
  __syncthreads();
}
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) { atomicAdd_system(word, number); }
HR_DEVICE void fence() { __threadfence_system(); }
#else
// The last thread runs last.
HR_DEVICE void finish_copies() {}
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) { __atomic_fetch_add(word, number, __ATOMIC_SEQ_CST); }
HR_DEVICE void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

template <class Element>
HR_DEVICE void copy_elements(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  for (std::uint64_t n = threadIdx.x; n < bytes / sizeof(Element); n += blockDim.x) target[n] = source[n];
}

}  // namespace

HR_KERNEL(hr_paired, (HR_CONSTANT PairedMoves moves)) {
  const PairedMove& move = moves.each[blockIdx.x];
  auto* const own = reinterpret_cast<PairedWords*>(move.own);
  if (*const_cast<const volatile std::uint32_t*>(&own->ready) >= kPairedReleased) return;
  const std::uint32_t moved = own->moved;
  const std::uint32_t slot = moved % kPairedSlots;
  const std::uint64_t from = move.from + slot * move.from_step;
  const std::uint64_t to = move.to + slot * move.to_step;
  const std::uint64_t aligned = from | to | move.bytes;
  if ((aligned & 15) == 0) {
    copy_elements<PairedBytes16>(from, to, move.bytes);
  } else if ((aligned & 7) == 0) {
    copy_elements<std::uint64_t>(from, to, move.bytes);
  } else if ((aligned & 3) == 0) {
    copy_elements<std::uint32_t>(from, to, move.bytes);
  } else {
    copy_elements<unsigned char>(from, to, move.bytes);
  }
  finish_copies();
  if (threadIdx.x != blockDim.x - 1) return;
  own->moved = moved + 1;
  add(&own->ready, ~std::uint32_t{0});
  fence();
  add(&reinterpret_cast<PairedWords*>(move.other)->ready, 1);
}

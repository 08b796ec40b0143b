// matched_copy.hpp: steps of the kernels of matched requests (paired.cu, matched_allreduce.cu): a block copies bytes,
// and then changes words that other devices' streams wait for.
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace hr::matched_kernels {

struct alignas(16) Bytes16 {
  std::uint64_t low, high;
};

#if defined(__CUDACC__)
// Orders the accesses of all threads before what the last thread does next, for every device.
HR_DEVICE void finish_copies() {
  __threadfence_system();
  __syncthreads();
}
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) { atomicAdd_system(word, number); }
// Adds one for the blocks of this launch; returns the number before.
HR_DEVICE std::uint32_t count_block(std::uint32_t* word) { return atomicAdd(word, 1U); }
HR_DEVICE void fence() { __threadfence_system(); }
#elif defined(__HIP__)
HR_DEVICE void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
HR_DEVICE void finish_copies() {
  fence();
  __builtin_amdgcn_s_barrier();
}
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) {
  __hip_atomic_fetch_add(word, number, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
}
HR_DEVICE std::uint32_t count_block(std::uint32_t* word) {
  return __hip_atomic_fetch_add(word, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#else
// The last thread runs last.
HR_DEVICE void finish_copies() {}
HR_DEVICE void add(std::uint32_t* word, std::uint32_t number) { __atomic_fetch_add(word, number, __ATOMIC_SEQ_CST); }
HR_DEVICE std::uint32_t count_block(std::uint32_t* word) { return (*word)++; }
HR_DEVICE void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

HR_DEVICE bool is_last_thread() { return threadIdx.x == blockDim.x - 1; }

HR_DEVICE std::uint32_t look(const std::uint32_t* word) { return *const_cast<const volatile std::uint32_t*>(word); }

// Several elements are loaded before any is stored, so that a block waits for memory once.
template <class Element>
HR_DEVICE void copy_elements(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, std::uint64_t first,
                             std::uint64_t step) {
  constexpr unsigned kInFlight = 4;
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  const std::uint64_t count = bytes / sizeof(Element);
  for (std::uint64_t n = first; n < count; n += kInFlight * step) {
    Element loaded[kInFlight];
    HR_UNROLL
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (n + k * step < count) loaded[k] = source[n + k * step];
    }
    HR_UNROLL
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (n + k * step < count) target[n + k * step] = loaded[k];
    }
  }
}

// Copies a part of the bytes by all threads of the block, in the largest elements that the addresses allow.
HR_DEVICE void copy_part(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, std::uint64_t part,
                         std::uint64_t parts) {
  const std::uint64_t first = part * blockDim.x + threadIdx.x, step = parts * blockDim.x;
  const std::uint64_t aligned = from | to | bytes;
  if ((aligned & 15) == 0) {
    copy_elements<Bytes16>(from, to, bytes, first, step);
  } else if ((aligned & 7) == 0) {
    copy_elements<std::uint64_t>(from, to, bytes, first, step);
  } else if ((aligned & 3) == 0) {
    copy_elements<std::uint32_t>(from, to, bytes, first, step);
  } else {
    copy_elements<unsigned char>(from, to, bytes, first, step);
  }
}

HR_DEVICE void copy_bytes(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  copy_part(from, to, bytes, 0, 1);
}

}  // namespace hr::matched_kernels

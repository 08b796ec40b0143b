// coresident.hpp: additions to portability.hpp for kernels whose threads and blocks wait for one another and for the
// host.
//
//   HR_CORESIDENT_KERNEL(name, (parameters)) { ... }     in blocks of at most 512 threads
//
// On the CPU the blocks of such a launch run concurrently, each as a single thread: write loops over a block's share
// as `for (n = hr_thread(); n < end; n += hr_block_threads())`. Addresses that a kernel reads from memory, instead of
// getting them as parameters, must be passed through hr_translate().
#pragma once

#include <cstdint>

#include "portability.hpp"

#if defined(__CUDACC__)

#define HR_CORESIDENT_KERNEL(name, parameters) extern "C" __global__ void __launch_bounds__(512) name parameters
#define HR_SHARED __shared__

HR_DEVICE unsigned hr_thread() { return threadIdx.x; }
HR_DEVICE unsigned hr_block_threads() { return blockDim.x; }
// Waits for all threads of the block. Their writes before the barrier are visible to all of them after it.
HR_DEVICE void hr_barrier() { __syncthreads(); }
HR_DEVICE std::uint64_t hr_translate(std::uint64_t address) { return address; }
HR_DEVICE std::uint64_t hr_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Returns the number of threads that the hardware runs in lockstep. A block's "lanes" are its first threads, as many as
// this number, numbered by hr_thread().
HR_DEVICE unsigned hr_warp_threads() { return 32; }
// True if `mine` is true in every lane; must be called by all lanes together.
HR_DEVICE bool hr_all(bool mine) { return __all_sync(~0u, mine); }

// Access words that the host, other devices and other blocks read or write concurrently. Writes before a release store
// are visible after an hr_load_acquire() that reads the stored value: on this device, or everywhere (system). Loads of
// all lanes from one 32-byte sector are a single access to host memory.
HR_DEVICE std::uint64_t hr_load_acquire(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
HR_DEVICE void hr_store_release(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
}
HR_DEVICE void hr_store_release_system(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}
HR_DEVICE void hr_pause() {}

#elif defined(__HIP__)

#define HR_CORESIDENT_KERNEL(name, parameters) \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 512))) void name parameters
#define HR_SHARED static __attribute__((shared))

HR_DEVICE unsigned hr_thread() { return threadIdx.x; }
HR_DEVICE unsigned hr_block_threads() { return blockDim.x; }
HR_DEVICE void hr_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
HR_DEVICE std::uint64_t hr_translate(std::uint64_t address) { return address; }
// The counter runs at 100 MHz on AMD GPUs.
HR_DEVICE std::uint64_t hr_nanoseconds() { return __builtin_readsteadycounter() * 10; }
HR_DEVICE unsigned hr_warp_threads() { return 64; }
HR_DEVICE bool hr_all(bool mine) { return __builtin_amdgcn_ballot_w64(!mine) == 0; }
HR_DEVICE std::uint64_t hr_load_acquire(const std::uint64_t* from) {
  return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
HR_DEVICE void hr_store_release(std::uint64_t* to, std::uint64_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
HR_DEVICE void hr_store_release_system(std::uint32_t* to, std::uint32_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
HR_DEVICE void hr_pause() { __builtin_amdgcn_s_sleep(1); }

#else

#include <sched.h>

#include <ctime>

namespace hr_host_kernels {

inline thread_local Translate reach = nullptr;

// Runs one block of a launch.
template <class... T>
void launch_block(void (*kernel)(T...), const unsigned* shape, unsigned index, void** arguments, Translate translate) {
  reach = translate;
  grid = {shape[0], 1, 1};
  block = {1, 1, 1};
  block_index = {index, 0, 0};
  thread_index = {0, 0, 0};
  call(kernel, arguments, translate, std::index_sequence_for<T...>{});
}

}  // namespace hr_host_kernels

#define HR_CORESIDENT_KERNEL(name, parameters)                                                            \
  static void name parameters;                                                                            \
  extern "C" __attribute__((visibility("default"))) void hr_kernel_run_block_##name(                      \
      const unsigned* shape, unsigned index, void** arguments, ::hr_host_kernels::Translate translate) {  \
    ::hr_host_kernels::launch_block(&name, shape, index, arguments, translate);                           \
  }                                                                                                       \
  extern "C" __attribute__((visibility("default"))) unsigned hr_kernel_sizes_##name(std::size_t* sizes) { \
    return ::hr_host_kernels::parameter_sizes(&name, sizes);                                              \
  }                                                                                                       \
  static void name parameters
#define HR_SHARED

HR_DEVICE unsigned hr_thread() { return 0; }
HR_DEVICE unsigned hr_block_threads() { return 1; }
HR_DEVICE void hr_barrier() {}
HR_DEVICE std::uint64_t hr_translate(std::uint64_t address) { return ::hr_host_kernels::reach(address); }
HR_DEVICE std::uint64_t hr_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000 + static_cast<std::uint64_t>(now.tv_nsec);
}
HR_DEVICE unsigned hr_warp_threads() { return 1; }
HR_DEVICE bool hr_all(bool mine) { return mine; }
HR_DEVICE std::uint64_t hr_load_acquire(const std::uint64_t* from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
HR_DEVICE void hr_store_release(std::uint64_t* to, std::uint64_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}
HR_DEVICE void hr_store_release_system(std::uint32_t* to, std::uint32_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}
HR_DEVICE void hr_pause() { sched_yield(); }

#endif

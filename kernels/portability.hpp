// portability.hpp: lets one kernel source compile for GPUs (with nvcc for NVIDIA, clang for AMD) and, for the tests'
// fake drivers, for the CPU.
//
//   HR_KERNEL(scale, (float* data, int n, float factor)) {
//     for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] *= factor;
//   }
//
// Kernels are plain CUDA C++ of extern "C" linkage, in blocks of at most 256 threads, without barriers, shared memory
// or intrinsics: on the CPU the threads of a launch run sequentially (for other kernels see coresident.hpp). They
// access memory only through pointers and 64-bit addresses among their parameters, also inside 8-byte aligned struct
// parameters. The fake driver replaces device addresses there with addresses that it can access. HR_FIRST(p) is the
// first parameter, a large struct, read where the launch has stored it; clang would copy it to each thread's own
// memory.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)

#define HR_KERNEL(name, parameters) extern "C" __global__ void __launch_bounds__(256) name parameters
#define HR_DEVICE static __device__ __forceinline__
#define HR_METHOD __device__ __forceinline__
#define HR_CONSTANT __grid_constant__ const
#define HR_FIRST(parameter) parameter
#define HR_UNROLL _Pragma("unroll")
#define HR_NO_UNROLL _Pragma("unroll 1")

#elif defined(__HIP__)  // without HIP headers: the compiler's attributes and built-in functions suffice

#include <cstring>
#include <type_traits>
#define memcpy __builtin_memcpy  // the C library's function is only for the host

#define HR_DEVICE static __attribute__((device, always_inline)) inline
#define HR_METHOD __attribute__((device, always_inline)) inline
#define HR_KERNEL(name, parameters) \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256))) void name parameters
#define HR_CONSTANT const
#define HR_FIRST(parameter) \
  (*(const std::remove_cv_t<decltype(parameter)>*)(__builtin_amdgcn_kernarg_segment_ptr()))  // NOLINT
#define HR_UNROLL _Pragma("unroll")
#define HR_NO_UNROLL _Pragma("nounroll")

namespace hr_amd {

struct Dim3 {
  unsigned x, y, z;
};
HR_DEVICE Dim3 thread_index() {
  return {__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()};
}
HR_DEVICE Dim3 block_index() {
  return {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()};
}
HR_DEVICE Dim3 block() {
  return {__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_workgroup_size_z()};
}
// The runtime launches only whole blocks.
HR_DEVICE Dim3 grid() {
  const Dim3 threads = block();
  return {__builtin_amdgcn_grid_size_x() / threads.x, __builtin_amdgcn_grid_size_y() / threads.y,
          __builtin_amdgcn_grid_size_z() / threads.z};
}

}  // namespace hr_amd

#define gridDim (::hr_amd::grid())
#define blockDim (::hr_amd::block())
#define blockIdx (::hr_amd::block_index())
#define threadIdx (::hr_amd::thread_index())

#else

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hr_host_kernels {

struct Dim3 {
  unsigned x, y, z;
};
inline thread_local Dim3 grid, block, block_index, thread_index;

// Converts a device address to one that the fake driver can access; leaves other values unchanged.
using Translate = std::uint64_t (*)(std::uint64_t address);

template <class T>
T translated(const void* argument, Translate translate) {
  T value = *static_cast<const T*>(argument);
  if constexpr (std::is_pointer_v<T>) {
    value = reinterpret_cast<T>(translate(reinterpret_cast<std::uint64_t>(value)));
  } else if constexpr (alignof(T) >= 8 && std::is_class_v<T>) {
    auto* words = reinterpret_cast<unsigned char*>(&value);
    for (std::size_t at = 0; at + 8 <= sizeof(T); at += 8) {
      std::uint64_t word;
      __builtin_memcpy(&word, words + at, 8);
      word = translate(word);
      __builtin_memcpy(words + at, &word, 8);
    }
  } else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, unsigned long long>) {
    value = translate(value);
  }
  return value;
}

// Runs one thread.
template <class... T, std::size_t... kIndex>
void call(void (*kernel)(T...), void** arguments, Translate translate, std::index_sequence<kIndex...>) {
  kernel(translated<std::remove_cv_t<T>>(arguments[kIndex], translate)...);
}

template <class... T, std::size_t... kIndex>
void run(void (*kernel)(T...), void** arguments, Translate translate, std::index_sequence<kIndex...>) {
  const std::tuple<std::remove_cv_t<T>...> values{translated<std::remove_cv_t<T>>(arguments[kIndex], translate)...};
  for (block_index.z = 0; block_index.z < grid.z; ++block_index.z)
    for (block_index.y = 0; block_index.y < grid.y; ++block_index.y)
      for (block_index.x = 0; block_index.x < grid.x; ++block_index.x)
        for (thread_index.z = 0; thread_index.z < block.z; ++thread_index.z)
          for (thread_index.y = 0; thread_index.y < block.y; ++thread_index.y)
            for (thread_index.x = 0; thread_index.x < block.x; ++thread_index.x) kernel(std::get<kIndex>(values)...);
}

// A kernel's interface to the fake driver: its launch, and the sizes of its parameters.
template <class... T>
void launch(void (*kernel)(T...), const unsigned* shape, void** arguments, Translate translate) {
  grid = {shape[0], shape[1], shape[2]};
  block = {shape[3], shape[4], shape[5]};
  run(kernel, arguments, translate, std::index_sequence_for<T...>{});
}
template <class... T>
unsigned parameter_sizes(void (*)(T...), std::size_t* sizes) {
  std::size_t index = 0;
  ((sizes[index++] = sizeof(T)), ...);
  return static_cast<unsigned>(sizeof...(T));
}

}  // namespace hr_host_kernels

#define gridDim (::hr_host_kernels::grid)
#define blockDim (::hr_host_kernels::block)
#define blockIdx (::hr_host_kernels::block_index)
#define threadIdx (::hr_host_kernels::thread_index)

#define HR_KERNEL(name, parameters)                                                                       \
  static void name parameters;                                                                            \
  extern "C" __attribute__((visibility("default"))) void hr_kernel_run_##name(                            \
      const unsigned* shape, void** arguments, ::hr_host_kernels::Translate translate) {                  \
    ::hr_host_kernels::launch(&name, shape, arguments, translate);                                        \
  }                                                                                                       \
  extern "C" __attribute__((visibility("default"))) unsigned hr_kernel_sizes_##name(std::size_t* sizes) { \
    return ::hr_host_kernels::parameter_sizes(&name, sizes);                                              \
  }                                                                                                       \
  static void name parameters
#define HR_DEVICE static inline
#define HR_METHOD inline
#define HR_CONSTANT const
#define HR_FIRST(parameter) parameter
#define HR_UNROLL
#define HR_NO_UNROLL

#endif

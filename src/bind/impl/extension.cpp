// Extensions that programs also use with other MPI libraries (include/mpi-ext.h).
#pragma GCC visibility push(default)
#include "mpi-ext.h"
#pragma GCC visibility pop

#include "base/lock.hpp"
#include "mem/mem.hpp"

int MPIX_Query_cuda_support(void) {
  const hr::LibraryGuard guard;
  return hr::mem::device_available(MPIX_GPU_SUPPORT_CUDA) ? 1 : 0;
}

int MPIX_Query_hip_support(void) {
  const hr::LibraryGuard guard;
  return hr::mem::device_available(MPIX_GPU_SUPPORT_HIP) ? 1 : 0;
}

int MPIX_Query_rocm_support(void) { return MPIX_Query_hip_support(); }

int MPIX_GPU_query_support(int gpu_type, int* is_supported) {
  if (is_supported == nullptr) return MPI_ERR_ARG;
  if (gpu_type != MPIX_GPU_SUPPORT_CUDA && gpu_type != MPIX_GPU_SUPPORT_ZE && gpu_type != MPIX_GPU_SUPPORT_HIP) {
    return MPI_ERR_ARG;
  }
  const hr::LibraryGuard guard;
  *is_supported = hr::mem::device_available(gpu_type) ? 1 : 0;
  return MPI_SUCCESS;
}

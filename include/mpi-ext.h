/* mpi-ext.h: what Headrace has beyond MPI 5.0, under the names that other MPI libraries use.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPI_EXT_H_HEADRACE
#define MPI_EXT_H_HEADRACE

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every buffer argument may point to CUDA memory. MPIX_Query_cuda_support() says whether a driver and a device are
 * present in this run; MPI need not be initialised. */
#define MPIX_CUDA_AWARE_SUPPORT 1
int MPIX_Query_cuda_support(void);

/* gpu_type: one of these. Returns MPI_SUCCESS, or MPI_ERR_ARG for an unknown type. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2
#define MPIX_GPU_SUPPORT_ROCM MPIX_GPU_SUPPORT_HIP
int MPIX_GPU_query_support(int gpu_type, int* is_supported);

#ifdef __cplusplus
}
#endif

#endif /* MPI_EXT_H_HEADRACE */

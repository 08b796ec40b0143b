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

/* 16-bit floating point, with every operation that MPI_FLOAT has; rounded to nearest even after each one. The handles
 * are beyond those of the standard ABI, with the values that Intel MPI's ABI header gives them. */
#define MPIX_C_FLOAT16 ((MPI_Datatype)0x000002f8) /* _Float16, IEEE 754 binary16 */
#define MPIX_BFLOAT16 ((MPI_Datatype)0x000002f9)  /* the upper half of a float */
#define MPIX_C_BF16 MPIX_BFLOAT16

#ifdef __cplusplus
}
#endif

#endif /* MPI_EXT_H_HEADRACE */

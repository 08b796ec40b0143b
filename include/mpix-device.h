/* mpix-device.h: partitions of partitioned communication that are marked as ready, and asked for, within kernels.
 *
 * Included by mpi-ext.h; needs no other header, so that a source for devices alone (NVRTC) may include it by itself.
 * For CUDA, HIP and the host; MPIX_Prequest_create() (mpi-ext.h) makes the objects that kernels get, by value.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPIX_DEVICE_H_HEADRACE
#define MPIX_DEVICE_H_HEADRACE

/* The partitions of one persistent partitioned operation. Its members are for the functions below only. */
typedef struct {
  unsigned* device_marks; /* a word for each partition, as devices reach it */
  unsigned* host_marks;   /* the same words, as the host does */
  int partitions;
} MPIX_Prequest;

#if defined(__CUDACC__) || defined(__HIPCC__)
#define MPIX_DEVICE_FUNCTION static __host__ __device__ __forceinline__
#elif defined(__cplusplus)
#define MPIX_DEVICE_FUNCTION static inline
#else
#define MPIX_DEVICE_FUNCTION static __inline__
#endif

/* For a send that is started: marks the partition's data as complete, as far as this thread knows. One thread calls it,
 * after a barrier of those that wrote (__syncthreads()). Once for each start; nothing happens for a partition that does
 * not exist. */
MPIX_DEVICE_FUNCTION void MPIX_Pready(int partition, MPIX_Prequest request) {
  if (partition < 0 || partition >= request.partitions) return;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __threadfence_system();
  *(volatile unsigned*)(request.device_marks + partition) = 1;
#else
  __atomic_store_n(request.host_marks + partition, 1u, __ATOMIC_RELEASE);
#endif
}

/* For a receive that is started: nonzero once the partition's data has come, which this thread may then read. It only
 * tests: a kernel must not wait for it, since the host cannot always bring a message while a kernel runs (to unmap a
 * peer's memory, say, the driver waits for all kernels). Threads of the host may wait. */
MPIX_DEVICE_FUNCTION int MPIX_Parrived(MPIX_Prequest request, int partition) {
  int arrived = 0;
  if (partition < 0 || partition >= request.partitions) return 0;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  arrived = *(volatile unsigned*)(request.device_marks + partition) != 0;
  __threadfence_system();
#else
  arrived = __atomic_load_n(request.host_marks + partition, __ATOMIC_ACQUIRE) != 0;
#endif
  return arrived;
}

#undef MPIX_DEVICE_FUNCTION

#endif /* MPIX_DEVICE_H_HEADRACE */

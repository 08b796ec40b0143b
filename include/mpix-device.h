/* mpix-device.h: functions by which kernels mark partitions of partitioned communication as ready, or test them.
 *
 * Included by mpi-ext.h; needs no other header, so that a source for devices alone (NVRTC) may include it by itself.
 * For CUDA, HIP and the host; MPIX_Prequest_create() (mpi-ext.h) makes the objects that are passed to kernels by value.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPIX_DEVICE_H_HEADRACE
#define MPIX_DEVICE_H_HEADRACE

/* The partitions of one persistent partitioned operation. Its members are for the functions below only. */
typedef struct {
  unsigned* device_marks; /* a word per partition, at its device address */
  unsigned* host_marks;   /* the same words at their host address */
  int partitions;
} MPIX_Prequest;

#if defined(__CUDACC__) || defined(__HIPCC__)
#define MPIX_DEVICE_FUNCTION static __host__ __device__ __forceinline__
#elif defined(__cplusplus)
#define MPIX_DEVICE_FUNCTION static inline
#else
#define MPIX_DEVICE_FUNCTION static __inline__
#endif

/* For a started send: marks the partition's data, as this thread sees it, as complete. One thread calls it once per
 * start, after a barrier of the threads that wrote the data (__syncthreads()). Does nothing if the partition does not
 * exist. */
MPIX_DEVICE_FUNCTION void MPIX_Pready(int partition, MPIX_Prequest request) {
  if (partition < 0 || partition >= request.partitions) return;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __threadfence_system();
  *(volatile unsigned*)(request.device_marks + partition) = 1;
#else
  __atomic_store_n(request.host_marks + partition, 1u, __ATOMIC_RELEASE);
#endif
}

/* For a started receive: nonzero once the partition's data has arrived, which this thread may then read. It only tests:
 * a kernel must not wait for it, since the host cannot always receive a message while a kernel runs (to unmap a peer's
 * memory, for example, the driver waits for all kernels). Threads of the host may wait. */
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

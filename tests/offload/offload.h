/* Common parts of the programs in this directory. Each is built twice: unchanged, with the mistake named in its first
   line, and with RIGHT defined, without the mistake. There are two ranks; in the correct program, the receiver checks
   the values. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#ifdef _OPENACC
#include <openacc.h>
#else
#include <omp.h>
#endif

enum { N = 1000 };

static inline int local_rank(void) {
  MPI_Comm node;
  int rank;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

/* Chooses a separate device for each rank on the node, if there are enough; the host if there is none. */
static inline void choose_device(void) {
  const int rank = local_rank();
#ifdef _OPENACC
  const int devices = acc_get_num_devices(acc_device_nvidia);
  if (devices > 0) acc_set_device_num(rank % devices, acc_device_nvidia);
#else
  const int devices = omp_get_num_devices();
  if (devices > 0) omp_set_default_device(rank % devices);
#endif
}

/* Returns 1, with a message, if a value is not 3 i + 1. */
static inline int wrong_values(const double *values) {
  for (int i = 0; i < N; ++i) {
    if (values[i] != 3.0 * i + 1.0) {
      printf("value %d is %g\n", i, values[i]);
      return 1;
    }
  }
  return 0;
}

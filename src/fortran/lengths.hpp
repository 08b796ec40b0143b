// Lengths of arrays that are not arguments: they follow from the communicator.
#pragma once

#include "mpi.h"

namespace hr::fortran {

// Returns the number of elements in the array arguments of v and w collectives.
inline int peers(MPI_Comm comm) noexcept {
  int inter = 0;
  int size = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  if (inter != 0) {
    PMPI_Comm_remote_size(comm, &size);
  } else {
    PMPI_Comm_size(comm, &size);
  }
  return size;
}

// True if arguments that are significant only at the root are significant here.
inline bool at_root(MPI_Comm comm, int root) noexcept {
  int rank = MPI_PROC_NULL;
  return root == MPI_ROOT || (PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root);
}

int sources(MPI_Comm comm) noexcept;
int destinations(MPI_Comm comm) noexcept;

inline int dimensions(MPI_Comm comm) noexcept {
  int count = 0;
  return PMPI_Cartdim_get(comm, &count) == MPI_SUCCESS ? count : 0;
}

}  // namespace hr::fortran

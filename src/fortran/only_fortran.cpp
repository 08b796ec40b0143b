// Functions that exist only in Fortran: MPI_SIZEOF, MPI_F_SYNC_REG (MPI 5.0 sections 19.1.8, 19.1.9).
#include <cstddef>
#include <cstring>

#include "mpi.h"

#pragma GCC visibility push(default)
extern "C" {

// The second member of every descriptor is the size of an element (Fortran 2018, 18.5.3).
void hr_f_sizeof_s(const void* descriptor, int* size, int* ierror) {
  std::size_t bytes = 0;
  std::memcpy(&bytes, static_cast<const char*>(descriptor) + sizeof(void*), sizeof(bytes));
  *size = static_cast<int>(bytes);
  if (ierror != nullptr) *ierror = MPI_SUCCESS;
}

// Does nothing, but the compiler must assume that it changes the buffer.
void hr_f_sync_reg_s(const void*) {}
}
#pragma GCC visibility pop

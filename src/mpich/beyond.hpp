// Functions that are beyond the standard (MPIX_): libmpi_abi.so.1 has them under the same names and types, and has been
// loaded before this library.
#pragma once

#include <dlfcn.h>

#include "mpi.h"

namespace hr::mpich {

// The function's result; MPI_ERR_UNSUPPORTED_OPERATION where that library has none of that name.
template <class... Arguments>
int call_beyond(const char* name, Arguments... arguments) {
  void* const library = dlopen("libmpi_abi.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

}  // namespace hr::mpich

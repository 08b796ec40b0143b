// Calls functions that are not in the standard (MPIX_). They have the same names and types in libmpi_abi.so.1, which is
// already loaded.
#pragma once

#include <dlfcn.h>

#include "mpi.h"

namespace hr::mpich {

// Returns the function of that name; null if there is none.
template <class Function>
Function* find_beyond(const char* name) {
  void* const library = dlopen("libmpi_abi.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

// Returns the function's result; MPI_ERR_UNSUPPORTED_OPERATION if there is no such function.
template <class... Arguments>
int call_beyond(const char* name, Arguments... arguments) {
  auto* const function = find_beyond<int(Arguments...)>(name);
  return function == nullptr ? MPI_ERR_UNSUPPORTED_OPERATION : function(arguments...);
}

}  // namespace hr::mpich

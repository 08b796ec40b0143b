// Addresses that mean MPI_BOTTOM, MPI_STATUS_IGNORE and the like in Fortran programs (MPI 5.0 section 2.5.4).
//
// mpif.h and the modules declare the objects at these addresses as common blocks and variables with the C names below.
// An executable that uses the objects contains them, and the library's references resolve to the executable's copies.
#pragma once

#include <cstdint>

#include "mpi.h"

#pragma GCC visibility push(default)
extern "C" {

struct HrFSentinels {
  int bottom;
  int in_place;
  int buffer_automatic;
  int status_ignore[MPI_F_STATUS_SIZE];
  int statuses_ignore[MPI_F_STATUS_SIZE];
  int errcodes_ignore[1];
  int unweighted[1];
  int weights_empty[1];
};
struct HrFStringSentinels {
  char argv_null[1];
  char argvs_null[1];
};
extern HrFSentinels hr_f_sentinels;
extern HrFStringSentinels hr_f_string_sentinels;
extern MPI_F08_status hr_f_status_ignore;
extern MPI_F08_status hr_f_statuses_ignore[1];
}
#pragma GCC visibility pop

namespace hr::fortran {

inline bool among_sentinels(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(&hr_f_sentinels) <
         sizeof(hr_f_sentinels);
}

// Returns the buffer argument for C.
inline void* address(const void* buffer) noexcept {
  if (among_sentinels(buffer)) [[unlikely]] {
    if (buffer == &hr_f_sentinels.bottom) return MPI_BOTTOM;
    if (buffer == &hr_f_sentinels.in_place) return MPI_IN_PLACE;
    if (buffer == &hr_f_sentinels.buffer_automatic) return MPI_BUFFER_AUTOMATIC;
  }
  return const_cast<void*>(buffer);
}

// Returns the argument for a status or an array of statuses, which are the same eight integers in C and Fortran
// (sections 20.3.1, 20.4.3).
inline MPI_Status* status(const void* status) noexcept {
  if (status == &hr_f_status_ignore || status == hr_f_statuses_ignore || among_sentinels(status)) {
    return MPI_STATUS_IGNORE;
  }
  return static_cast<MPI_Status*>(const_cast<void*>(status));
}

inline int* weights(const int* weights) noexcept {
  if (weights == hr_f_sentinels.unweighted) return MPI_UNWEIGHTED;
  if (weights == hr_f_sentinels.weights_empty) return MPI_WEIGHTS_EMPTY;
  return const_cast<int*>(weights);
}

inline int* error_codes(int* codes) noexcept {
  return codes == hr_f_sentinels.errcodes_ignore ? MPI_ERRCODES_IGNORE : codes;
}

}  // namespace hr::fortran

// Tells MPI, before it is initialised, what the program's Fortran is like (MPI 5.0 section 20.5): what .TRUE. and
// .FALSE. are, and how large the types are. An MPI that was told before, or cannot be told, is left as it is.
#include "fortran/compiler.hpp"
#include "mpi.h"

namespace {

__attribute__((constructor)) void tell_what_fortran_is() {
  alignas(16) unsigned char yes[16] = {};
  alignas(16) unsigned char no[16] = {};
  const int size = hr_f_logical_size();
  int known = 0;
  if (PMPI_Abi_get_fortran_booleans(size, yes, no, &known) == MPI_SUCCESS && known == 0) {
    hr_f_set_logical(yes, 1);
    hr_f_set_logical(no, 0);
    PMPI_Abi_set_fortran_booleans(size, yes, no);
  }
}

}  // namespace

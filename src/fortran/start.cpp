// Reports to MPI the properties of the program's Fortran (MPI 5.0 section 20.4.1): the values of .TRUE. and .FALSE.,
// and the sizes of the types. An MPI library that already has them is left unchanged.
//
// Headrace accepts them before it is initialised, so that a main program in C needs to do nothing. Other MPI libraries
// with the standard ABI accept them only after initialisation, and get them when MPI is initialised from Fortran.
#include "fortran/start.hpp"

#include <atomic>
#include <cstring>
#include <string>

#include "fortran/compiler.hpp"
#include "mpi.h"

namespace hr::fortran {
namespace {

// Never called. Because this library refers to the program's function, the linker exports that function, so that the
// MPI library can find it by name. The reference is a call and not an address, so that programs linked before this
// function existed still load.
[[gnu::used]] void refer_to_flush() { hr_f_flush(); }

void register_logicals() {
  alignas(16) unsigned char yes[16] = {};
  alignas(16) unsigned char no[16] = {};
  const int size = hr_f_logical_size();
  int known = 0;
  if (PMPI_Abi_get_fortran_booleans(size, yes, no, &known) != MPI_SUCCESS || known != 0) return;
  hr_f_set_logical(yes, 1);
  hr_f_set_logical(no, 0);
  PMPI_Abi_set_fortran_booleans(size, yes, no);
}

void register_sizes() {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS) return;
  if (info == MPI_INFO_NULL) {
    if (PMPI_Info_create(&info) != MPI_SUCCESS) return;
    PMPI_Info_set(info, "mpi_logical_size", std::to_string(hr_f_logical_size()).c_str());
    PMPI_Info_set(info, "mpi_integer_size", "4");
    PMPI_Info_set(info, "mpi_real_size", "4");
    PMPI_Info_set(info, "mpi_double_precision_size", "8");
    PMPI_Abi_set_fortran_info(info);
  }
  PMPI_Info_free(&info);
}

__attribute__((constructor)) void at_load() {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (PMPI_Get_library_version(version, &length) == MPI_SUCCESS && std::strncmp(version, "Headrace", 8) == 0) {
    register_fortran_traits();
  }
}

}  // namespace

void register_fortran_traits() {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  register_logicals();
  register_sizes();
}

}  // namespace hr::fortran

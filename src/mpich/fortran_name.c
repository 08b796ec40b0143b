// Stands in for the Fortran libraries of MPICH: names that C programs are linked with, too, and one sentence for
// programs that begin MPI from Fortran. MPICH's Fortran interface is compiled into them; ours is not
// (docs/adr/0021-fortran.md).
#include <stdio.h>
#include <stdlib.h>

#define HR_EXPORT __attribute__((visibility("default")))

static _Noreturn void hr_no_fortran(void) {
  fputs(
      "headrace: this program was compiled by the mpifort of MPICH or Intel MPI, whose Fortran interface Headrace does "
      "not have: compile it with Headrace's mpifort (C and C++ programs run as they are)\n",
      stderr);
  exit(1);
}

// Names as gfortran, ifort and flang write them; the last are of the module mpi_f08.
#define HR_BEGINS(name)      \
  HR_EXPORT void name(void); \
  void name(void) { hr_no_fortran(); }

HR_BEGINS(mpi_init_)
HR_BEGINS(pmpi_init_)
HR_BEGINS(mpi_init_thread_)
HR_BEGINS(pmpi_init_thread_)
HR_BEGINS(mpi_session_init_)
HR_BEGINS(mpi_init_f08_)
HR_BEGINS(mpi_init_thread_f08_)
HR_BEGINS(mpi_session_init_f08_)

// Registers properties of the program's Fortran when MPI is initialised from Fortran.
#pragma once

namespace hr::fortran {

// Does this only once per process. Threads: any.
void register_fortran_traits();

}  // namespace hr::fortran

// Registers properties of the program's Fortran when MPI is initialised from Fortran.
#pragma once

namespace hr::fortran {

// Does nothing after the first call in a process. Threads: any.
void register_fortran_traits();

}  // namespace hr::fortran

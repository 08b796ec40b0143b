// Registration at the initialisation of MPI from Fortran.
#pragma once

namespace hr::fortran {

// Acts once in a process. Threads: any.
void register_fortran_traits();

}  // namespace hr::fortran

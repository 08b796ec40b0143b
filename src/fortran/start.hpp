// What happens when Fortran initialises MPI.
#pragma once

namespace hr::fortran {

// Once in a process; Threads: any.
void register_fortran_traits();

}  // namespace hr::fortran

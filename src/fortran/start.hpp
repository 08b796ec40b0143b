// What happens when Fortran initialises MPI.
#pragma once

namespace hr::fortran {

// Once in a process; Threads: any.
void tell_what_fortran_is();

}  // namespace hr::fortran

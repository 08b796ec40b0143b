// Errors that the Fortran side itself detects.
#pragma once

#include <string>

namespace hr::fortran {

// Calls the error handler of MPI_COMM_SELF with a code that has this class and text; returns the code.
int error(int error_class, const char* text);

}  // namespace hr::fortran

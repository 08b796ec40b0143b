// Errors of the generated bodies of functions without an implementation.
#pragma once

#include "base/status.hpp"

namespace hr::bind {

// Returns MPI_ERR_UNSUPPORTED_OPERATION. The function's name (a literal) is added where the error is raised. File
// functions return errors unless the program sets another handler, and few programs check them; so the process's first
// call of each function is also reported on standard error.
Status missing(const char* function);

}  // namespace hr::bind

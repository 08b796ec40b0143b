// Errors of the generated bodies of functions without an implementation.
#pragma once

#include "base/status.hpp"

namespace hr::bind {

// Returns MPI_ERR_UNSUPPORTED_OPERATION. The function's name (a literal) is added where the error is raised. Files
// return errors unless the program says otherwise, and few programs check: so the first call of each function in the
// process is reported on standard error, too.
Status missing(const char* function);

}  // namespace hr::bind

// What the generated bodies of functions without an implementation answer.
#pragma once

#include "base/status.hpp"

namespace hr::bind {

// MPI_ERR_UNSUPPORTED_OPERATION. The function's name (a literal) is added where the error is raised.
// Files return errors unless the program says otherwise, and few programs look: so the first call of each function in
// the process is told on standard error, too.
Status missing(const char* function);

}  // namespace hr::bind

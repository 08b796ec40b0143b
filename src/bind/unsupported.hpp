// What the generated bodies of functions without an implementation answer.
#pragma once

#include "base/log.hpp"
#include "base/status.hpp"

namespace hr::bind {

// MPI_ERR_UNSUPPORTED_OPERATION. The function's name is added where the error is raised.
// Files return errors unless the program says otherwise, and few programs look: so the first call of each function is
// told on standard error, too. `told` is a static flag of the function's.
inline Status missing(const char* function, bool& told) {
  if (!told) {
    told = true;
    log::write(log::Level::kError,
               "%s: this version of Headrace has no implementation of it; docs/conformance.md lists what works",
               function);
  }
  return fail(Errc::kUnsupportedOperation,
              "this version of Headrace has no implementation of it; docs/conformance.md lists what works");
}

}  // namespace hr::bind

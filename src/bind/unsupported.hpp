// What the generated bodies of functions without an implementation answer.
#pragma once

#include "base/status.hpp"

namespace hr::bind {

// MPI_ERR_UNSUPPORTED_OPERATION. The function's name is added where the error is raised.
inline Status missing() {
  return fail(Errc::kUnsupportedOperation,
              "this version of Headrace has no implementation of it; docs/conformance.md lists what works");
}

}  // namespace hr::bind

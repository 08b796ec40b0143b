// The PMIx library, opened at run time: the one that is in the process already, a site's own if the system's loader
// finds it, else the one that the launcher itself has in use.
//
// Never closed: its threads may run until the process ends. Owner: process-wide. Threads: library lock.
#pragma once

#include "base/status.hpp"
#include "boot/pmix_abi.hpp"

namespace hr::boot::pmix {

struct Library {
  InitFunction init = nullptr;
  FinalizeFunction finalize = nullptr;
  AbortFunction abort = nullptr;
  PutFunction put = nullptr;
  CommitFunction commit = nullptr;
  FenceFunction begin_fence = nullptr;
  GetFunction get = nullptr;
  RegisterFunction register_event = nullptr;
  PublishFunction publish = nullptr;
  UnpublishFunction unpublish = nullptr;
  LookupFunction look_up = nullptr;
  ErrorStringFunction error_string = nullptr;
};

// Errors: MPI_ERR_OTHER with the places tried.
Status open_library(const Library** library);

}  // namespace hr::boot::pmix

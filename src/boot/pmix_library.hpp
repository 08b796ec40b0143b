// The PMIx library, opened at run time: the library already loaded into the process, else, if the knob pmix_dir is set,
// only the library in that directory, else the launcher's library, else the library that the dynamic loader finds.
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

// Opens the library on the first call. Errors: MPI_ERR_OTHER with the places searched.
Status open_library(const Library** library);

}  // namespace hr::boot::pmix

// Conversions between MPI_Status and the layers' record of a completed operation.
#pragma once

#include "bind/status_words.hpp"
#include "mpi.h"
#include "p2p/request.hpp"

namespace hr::bind {

// Sets all fields except MPI_ERROR, which functions that return a single status leave unchanged (section 3.2.5).
inline void fill_status(MPI_Status& status, const p2p::Completion& completion) noexcept {
  status.MPI_SOURCE = completion.source;
  status.MPI_TAG = completion.tag;
  set_status_bytes(status, completion.bytes);
  set_status_cancelled(status, completion.cancelled);
}

// Fills *status unless the program passed MPI_STATUS_IGNORE.
inline void fill_status(MPI_Status* status, const p2p::Completion& completion) noexcept {
  if (status != MPI_STATUS_IGNORE) fill_status(*status, completion);
}

// Converts back, for generalized requests, whose status the program sets.
inline p2p::Completion completion_of(const MPI_Status& status) noexcept {
  return {status.MPI_SOURCE, status.MPI_TAG, status_bytes(status), status_cancelled(status), kOk};
}

// Sets an "empty" status, as defined in section 3.7.3: any source, any tag, no data, no error.
inline void set_empty(MPI_Status& status) noexcept {
  fill_status(status, p2p::Completion());
  status.MPI_ERROR = MPI_SUCCESS;
}

}  // namespace hr::bind

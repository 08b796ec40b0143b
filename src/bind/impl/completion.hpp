// Reports and releases complete requests (MPI 5.0 sections 3.7.3 to 3.7.6).
#pragma once

#include "bind/handles.hpp"
#include "mpi.h"
#include "p2p/p2p.hpp"

namespace hr::bind::impl {

// Finds the request behind a handle. *request is null for MPI_REQUEST_NULL. `index`: the position in the caller's
// array, -1 for a single request. Errors: MPI_ERR_REQUEST; the text names the position and the handle.
Status no_request(MPI_Request handle, int index);
inline Status find_request(MPI_Request handle, int index, p2p::Request** request) {
  *request = lookup<p2p::Request>(handle);
  return *request != nullptr || handle == MPI_REQUEST_NULL ? kOk : no_request(handle, index);
}

// True if there is nothing to wait for: the request is complete, inactive or null.
inline bool is_ready(const p2p::Request* request) {
  return request == nullptr || !request->active() || request->complete();
}
// True if the request counts in MPI_Waitany, MPI_Waitsome and the like: it is neither null nor inactive.
inline bool counts(const p2p::Request* request) { return request != nullptr && request->active(); }

// Reports a ready request: fills `status` (null: ignored), returns the operation's own error, and frees the request
// (handle set to MPI_REQUEST_NULL) or makes a persistent one inactive.
Status report_and_release(MPI_Request* handle, p2p::Request* request, MPI_Status* status);
// Reports a request without releasing it (MPI_Request_get_status).
Status report_only(p2p::Request* request, MPI_Status* status);
void report_empty(MPI_Status* status);

}  // namespace hr::bind::impl

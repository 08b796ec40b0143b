// What the point-to-point entry points share: requests that are complete from the start, and the communicator that a
// request or message keeps alive (errors that come later are raised on it).
#pragma once

#include "comm/communicator.hpp"
#include "mpi.h"
#include "p2p/p2p.hpp"

namespace hr::bind::impl {

void destroy_communicator(Object* communicator);
inline void keep_communicator(p2p::Request& request, comm::Communicator& comm) {
  if (request.complete() && request.completion_.error.ok()) return;  // no error is to come
  if (request.communicator_ != nullptr) [[unlikely]]
    return;
  comm.retain();
  request.communicator_ = &comm;
  request.destroy_communicator_ = &destroy_communicator;
}
void keep_communicator(p2p::Message& message, comm::Communicator& comm);

// A request that is complete already (MPI_PROC_NULL).
Status done_already(const p2p::Completion& completion, p2p::Request*& request);
// A persistent one that completes at every start.
Status persistent_nothing(const p2p::Completion& completion, p2p::Request*& request);

// The object behind MPI_MESSAGE_NO_PROC.
p2p::Message* no_process_message();
// The message behind a handle, null for MPI_MESSAGE_NO_PROC. MPI_ERR_REQUEST for anything else that is not live.
Status take_message(MPI_Message* handle, p2p::Message** message);

}  // namespace hr::bind::impl

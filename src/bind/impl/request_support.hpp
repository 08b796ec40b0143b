// Shared parts of the point-to-point entry points: requests that are complete from the start, and the communicator that
// a request or message keeps alive (later errors are raised on it).
#pragma once

#include <type_traits>

#include "comm/communicator.hpp"
#include "mpi.h"
#include "p2p/p2p.hpp"

namespace hr::bind::impl {

void destroy_communicator(Object* communicator);
// Holder: p2p::Request or p2p::Message.
template <class Holder>
void keep_communicator(Holder& holder, comm::Communicator& comm) {
  if constexpr (std::is_same_v<Holder, p2p::Request>) {
    // No error can follow, and the request may be the one that completed sends share.
    if (holder.complete() && holder.completion_.error.ok()) return;
  }
  if (holder.communicator_ != nullptr) [[unlikely]]
    return;
  comm.retain();
  holder.communicator_ = &comm;
  holder.destroy_communicator_ = &destroy_communicator;
}

// Makes the call raise its error, if it has one, on the communicator on which the operation was created.
Status raised_for(const p2p::Request& request, Status status);

// Creates a request that is already complete (MPI_PROC_NULL).
Status done_already(const p2p::Completion& completion, p2p::Request*& request);
// Creates a persistent request that completes as soon as it is started.
Status persistent_nothing(const p2p::Completion& completion, p2p::Request*& request);

// Returns kOk if the buffer for buffered sends on this communicator has space for the message now; does not use that
// space. Errors: MPI_ERR_BUFFER. May let other threads in.
Status check_room(comm::Communicator& comm, std::size_t bytes);

// Returns the object behind MPI_MESSAGE_NO_PROC.
p2p::Message* no_process_message();
// Finds the message behind a handle; null for MPI_MESSAGE_NO_PROC. Errors: MPI_ERR_REQUEST for any other handle that is
// not live.
Status take_message(MPI_Message* handle, p2p::Message** message);

}  // namespace hr::bind::impl

// Shrinking: creates a communicator of the surviving members (MPIX_Comm_shrink), in the same order; it inherits only
// the error handler. Works on a revoked communicator.
//
// The survivors agree on the failed members (consensus.hpp), then on a context as in any creation, and then on whether
// all of them obtained it without a further failure. After a further failure they start again; without one, a member's
// error ends the operation on all. Both groups of an intercommunicator are shrunk.
#pragma once

#include "comm/communicator.hpp"
#include "p2p/request.hpp"

namespace hr::comm {

// Errors: MPI_ERR_COMM if a group of an intercommunicator has no survivors.
Status shrink(Communicator& comm, Ref<Communicator>* result);
// *result may be used when the request is complete.
Status ishrink(Communicator& comm, Ref<Communicator>* result, p2p::Request** request);

}  // namespace hr::comm

// Shrinking: a communicator of the surviving members (MPIX_Comm_shrink), in the same order, with nothing of the old one
// but its error handler. Works on a revoked communicator.
//
// The survivors agree on the failed members (consensus.hpp), agree on a context as at any creation, and agree on
// whether that succeeded everywhere without a further failure; else they begin again. Both groups of an
// intercommunicator shrink.
#pragma once

#include "comm/communicator.hpp"
#include "p2p/request.hpp"

namespace hr::comm {

// Errors: MPI_ERR_COMM: one group of an intercommunicator has no survivors.
Status shrink(Communicator& comm, Ref<Communicator>* result);
// *result may be used when the request is complete.
Status ishrink(Communicator& comm, Ref<Communicator>* result, p2p::Request** request);

}  // namespace hr::comm

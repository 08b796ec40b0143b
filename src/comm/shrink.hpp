// Shrinking: a communicator of the members that are left (MPIX_Comm_shrink), in the same order, with the error handler
// of the old one and nothing else of it. Works on a revoked communicator.
//
// Those who are left agree on who has failed (consensus.hpp), agree on a context as at any creation, and agree on
// whether that came to its end everywhere without a further failure; else they begin again. Of an intercommunicator
// both groups shrink.
#pragma once

#include "comm/communicator.hpp"
#include "p2p/request.hpp"

namespace hr::comm {

// MPI_ERR_COMM: nobody is left in one group of an intercommunicator.
Status shrink(Communicator& comm, Ref<Communicator>* result);
// *result may be used when the request is complete.
Status ishrink(Communicator& comm, Ref<Communicator>* result, p2p::Request** request);

}  // namespace hr::comm

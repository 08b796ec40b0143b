// Shared copy: the sender of a long message helps the receiver that reads its memory, by writing the back of the
// message into the receiver's buffer meanwhile. Two cores move what one moved.
//
// The receiver tells the sender where its buffer is (kShare) and reads from the front, part by part, until all parts
// are claimed (claims.hpp). A sender that is within MPI claims parts of the back, writes them and says so (kShared);
// one that computes finds everything claimed when it comes, and the receiver has read all by itself. The receiver
// answers kDone, as it does when it reads alone; a sender's writing is over by then, as it works on kShare at once.
// What the system does not let the sender write, the receiver reads, and answers a second kDone. What turns out not to
// be readable after all comes as a stream. Owner: process-wide; the receive owns its word until kShared. Threads:
// library lock.
#pragma once

#include "p2p/rendezvous.hpp"
#include "p2p/wire.hpp"

namespace hr::p2p::shared_copy {

// From this size on a message is worth the call for help.
inline constexpr std::size_t kLeast = 32768;

// Reads the data of an announced message, with the sender's help where it pays; the receive ends now or at kShared.
// MPI_ERR_UNSUPPORTED_OPERATION: the system does not let us, nothing has been moved and nobody been told.
Status begin(const Announcement& announced, Request& receive);

// Sender: kShare has come.
void help(int from, Request& send, const std::byte* payload);
// Receiver: kShared has come; the sender has written what it claimed, or could not.
void helped(int from, Request& receive, bool failed);
// Sender: kDone has come.
void released(Request& send);

}  // namespace hr::p2p::shared_copy

// Shared copy: sender and receiver of a long message copy it together, one writing into the receiver's buffer, the
// other reading the sender's. Two cores move what one moved.
//
// The receiver tells the sender where its buffer is (kShare). Either side keeps its pending copies in a list. In each
// round of progress it takes the first few, claims parts of each (claims.hpp), the receiver from the front, the sender
// from the back, and moves them by one system call, until nothing of them is left to be claimed. So each has its half
// of every message, and its halves of the buffers in its caches; one of them copies all while the other computes.
//
// The sender says how much it has written (kShared); the receiver answers kDone once it reads no more, if it read
// anything: a sender that wrote all knows by itself that it is done. Bytes that the system does not let the sender
// write are read by the receiver, which answers a second kDone. Memory that turns out not to be readable after all
// takes the fallback.
//
// The system calls of a round are made without the library lock, if there is one and the copy is long: other threads
// get in, start and deliver messages, and make rounds. Meanwhile
// - the requests of this round are in no list; no other round copies parts of them, as no list leads to them and no two
//   claims are the same. Of each this side has claimed a part that it has not accounted for, so a receive cannot
//   complete, and its word is not given back (requests of which this side has claimed nothing leave the round before
//   others get in). A send says that it is being written from: a kDone that comes is noted and acted upon after the
//   copy;
// - kShared may come for a receive that is being read: it is accounted for, bytes that the sender could not write are
//   read, and the round that reads the rest finishes the receive, or the other way round. No kCts comes for a send that
//   is being written from, as the receiver waits for kShared;
// - such requests are neither cancelled (they have matched their message) nor destroyed (the engine holds them, or the
//   waiting call does), and the communicators and types they keep stay with them;
// - of a request only its addresses are used, which are copied before;
// - the engine and its peers stay: MPI_Finalize waits for the progress thread, and no other thread may be in MPI then.
// A copy made within a delivery keeps the lock: the ring's reader is not done with its message.
//
// Owner: shared_copy.cpp's tables, until the engine ends; the state of a message hangs on its request; the receive owns
// its word until all is claimed. Threads: library lock.
#pragma once

#include "p2p/rendezvous.hpp"
#include "p2p/wire.hpp"

namespace hr::p2p::shared_copy {

// Copies the data of a rendezvous: with the sender, in rounds of progress, or by itself before this returns.
// MPI_ERR_UNSUPPORTED_OPERATION: the system refuses; nothing has been moved and no other process been told.
Status begin(const ReadyToSend& rts, Request& receive);

// Sender: handles kShare. False: it does not fit the message.
[[nodiscard]] bool help(int from, Request& send, const std::byte* payload);
// Receiver: handles kShared: the sender has written the bytes that it claimed, or could not. False: that cannot be.
[[nodiscard]] bool helped(int from, Request& receive, std::size_t bytes, bool failed);
// Sender: handles kDone. True: the send goes on.
bool released(Request& send);
// True while a round that is copying its data has let others in.
[[nodiscard]] bool holds(const Request& request) noexcept;
void finalize();

}  // namespace hr::p2p::shared_copy

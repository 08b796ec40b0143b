// Shared copy: sender and receiver of a long message copy it together, the one writing into the receiver's buffer, the
// other reading the sender's. Two cores move what one moved.
//
// The receiver tells the sender where its buffer is (kShare). Either side keeps what it is to copy in a list, and in
// each round of progress takes the first few, claims parts of each (claims.hpp), the receiver from the front, the
// sender from the back, and moves them by one system call, until nothing of them is left to be claimed. Both so have
// their halves of every message, and their halves of the buffers in their caches; one of them copies all where the
// other computes.
//
// The sender says how much it has written (kShared); the receiver answers kDone once it reads no more, if it read
// anything: a sender that wrote all knows by itself that it is done. What the system does not let the sender write, the
// receiver reads, and answers a second kDone. What turns out not to be readable after all takes the fallback.
//
// The system calls of a round are made without the library lock, where there is one and the copy is long: other threads
// get in, start and deliver messages, and make rounds. Meanwhile
// - the requests of this round are in no list; no other round copies parts of them, as no list leads to them and no two
//   claims are the same. Of each this side has claimed a part that it has not accounted for, so a receive cannot
//   complete, and its word is not given back (what this side has claimed nothing of leaves the round before others get
//   in). A send says that it is being written from: a kDone that comes is noted and acted upon after the copy;
// - kShared may come for a receive that is being read: it is accounted for, what the sender could not write is read,
//   and the round that reads the rest finishes the receive, or the other way round. kCts comes for no send that is
//   being written from, as the receiver waits for kShared;
// - such requests are neither cancelled (they have met their message) nor destroyed (the engine holds them, or the call
//   that waits does), and what they keep, communicators and types, stays with them;
// - nothing of a request but its addresses is used: they are copied before;
// - the engine and its peers stay: MPI_Finalize waits for the progress thread, and no other thread may be in MPI then.
// A copy that is made in the midst of a delivery keeps the lock: the ring's reader is not done with its message.
//
// Owner: shared_copy.cpp's tables, until the engine ends; what is kept for a message hangs on its request; the receive
// owns its word until all is claimed. Threads: library lock.
#pragma once

#include "p2p/rendezvous.hpp"
#include "p2p/wire.hpp"

namespace hr::p2p::shared_copy {

// Copies the data of an announced message: with the sender, in rounds of progress, or by itself before this returns.
// MPI_ERR_UNSUPPORTED_OPERATION: the system does not let us, nothing has been moved and nobody been told.
Status begin(const Announcement& announced, Request& receive);

// Sender: kShare has come. False: it does not fit the message.
[[nodiscard]] bool help(int from, Request& send, const std::byte* payload);
// Receiver: kShared has come; the sender has written what it claimed, so many bytes, or could not. False: that cannot
// be.
[[nodiscard]] bool helped(int from, Request& receive, std::size_t bytes, bool failed);
// Sender: kDone has come. True: the send goes on.
bool released(Request& send);
// A round that is copying its data has let others in.
[[nodiscard]] bool holds(const Request& request) noexcept;
void finalize();

}  // namespace hr::p2p::shared_copy

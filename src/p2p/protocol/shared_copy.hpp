// Shared copy: sender and receiver of a long message copy it together, so that two cores do the work. The sender writes
// into the receiver's buffer, and the receiver reads the sender's.
//
// The receiver sends the address of its buffer to the sender (kShare). Each side keeps its pending copies in a list. In
// each round of progress, it picks the first few copies and claims a part of each (claims.hpp), the receiver from the
// front, the sender from the back. It moves these parts with one system call, and repeats this until nothing is left to
// claim. So each side copies its half of every message, and keeps its halves of the buffers in its caches; if one side
// is computing, the other copies everything.
//
// The sender reports how much it has written (kShared). The receiver answers kDone once it has finished reading, if it
// read anything; a sender that wrote everything needs no answer. If the system does not let the sender write its bytes,
// the receiver reads them, and answers with a second kDone. If memory turns out not to be readable, the fallback is
// used.
//
// A round makes its system calls without the library lock, if the lock is enabled and the copy is long: other threads
// enter the library, start and deliver messages, and make rounds. Meanwhile
// - the requests of this round are in no list, so no other round copies parts of them, and no two claims are the same.
//   This side has claimed a part of each request that it has not accounted for, so a receive cannot complete, and its
//   word is not given back. (A request without such a part leaves the round before other threads may enter.) A send is
//   marked as being written from: an arriving kDone is recorded, and handled after the copy;
// - kShared may arrive for a receive that is being read. Bytes that the sender could not write are then read, and all
//   bytes of kShared are accounted for. The receive ends then or in the round that reads the rest, whichever is later.
//   No kCts arrives for a send that is being written from, because the receiver waits for kShared;
// - the requests of this round are neither cancelled (they have matched their message) nor destroyed (the engine or the
//   waiting call holds them), and they keep their communicators and types alive;
// - only the addresses of a request are used, and these have been copied beforehand;
// - the engine and its peers remain: MPI_Finalize waits for the progress thread, and no other thread may be in MPI
//   then.
//
// A sender whose answer would have to wait for space does not help: its program may not call MPI again for long. (While
// the sender copies without the lock, messages of other threads may take the space.)
//
// A copy made during a delivery keeps the lock, because the ring's reader has not finished its message.
//
// Owner: shared_copy.cpp's tables, until the engine ends; the state of a message belongs to its request; the receive
// owns its word until everything is claimed. Threads: library lock.
#pragma once

#include "p2p/core/wire.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p::shared_copy {

// Copies the data of a rendezvous: with the sender, in rounds of progress, or alone, before begin() returns. Errors:
// MPI_ERR_UNSUPPORTED_OPERATION if the system refuses; then nothing has been moved or sent.
Status begin(const ReadyToSend& rts, Request& receive);

// Sender: handles kShare. False if kShare does not fit the message.
[[nodiscard]] bool help(int from, Request& send, const std::byte* payload);
// Receiver: handles kShared: the sender has written the bytes that it claimed, or could not write them. False if
// kShared is not valid.
[[nodiscard]] bool helped(int from, Request& receive, std::size_t bytes, bool failed);
// Sender: handles kDone. True if the send continues.
bool released(Request& send);
// True while a round that is copying the request's data has let other threads in.
[[nodiscard]] bool holds(const Request& request) noexcept;
void finalize();

}  // namespace hr::p2p::shared_copy

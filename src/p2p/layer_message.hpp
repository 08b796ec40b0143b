// Messages of layers above p2p: a header and some bytes, handed to the handler of their kind on arrival, within the
// target's progress. For messages that no receive matches (one-sided operations).
//
// To one process they arrive in the order they were sent, among themselves; not so with messages of send() and isend().
// A handler may send, post receives and unpack; it makes no progress. Threads: library lock.
#pragma once

#include <cstddef>

#include "p2p/wire.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Sets the handler of a kind: once, after init(). The kind is in the lowest 8 bits of the header's first word.
void set_handler(wire::Kind kind, transport::Handler handler) noexcept;
// *bytes: the longest payload. Errors: as of send_message().
Status longest_message(int proc, std::size_t* bytes);
// Sends a copy, now or as soon as there is room. Errors: MPIX_ERR_PROC_FAILED if that process is lost, MPI_ERR_OTHER if
// no transport reaches it.
Status send_message(int proc, const transport::Header& header, const void* payload = nullptr, std::size_t bytes = 0);

}  // namespace hr::p2p

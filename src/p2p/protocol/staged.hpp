// Staged: messages from or to device memory that cannot move directly from memory to memory. The sender copies pieces
// into chunks of staging memory, the receiver copies them out, several at a time, so that the copies on both sides and
// the messages between them overlap. Chunks are pinned memory that the processes share, or, from device to device if
// the peer can map it, device memory of the sender (pool, VMM and managed memory cannot be mapped themselves).
//
// The receiver chooses (begin() in staged.cpp; wire::Way in the clear-to-send). The sender's half is a PieceSends whose
// carrier lends the chunk: the message of a piece names its location (wire::Piece), and the receiver returns the chunk
// (wire::kChunk). A message for which there is no staging memory goes through the transport. If a copy fails, both
// processes end the message. Data on devices is ordered after the default streams because all work is put on blocking
// streams (mem/device/context.hpp). Owner: the tables in staged_send.cpp and staged_receive.cpp, until everything in
// them is complete. Threads: library lock.
#pragma once

#include <cstdint>

#include "mem/device/ipc.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/protocol/piece_sends.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p::staged {

// --- staged.cpp ---

// Returns the flags (wire::RtsFlag) of a ready-to-send message for this view, which must not be host memory.
std::uint64_t flags_of(const layout::View& data);
// Adds the hook that polls the copies.
void watch();
// --- staged_send.cpp ---

// True if resident copy kernels (p2p/wait/resident_copy_scope.hpp) may stage this short device data, which is faster
// than a copy through the host.
[[nodiscard]] bool uses_resident_copier(const Peer& peer, const layout::View& data);
// Exports device chunks for a message from this device or managed view; false if there are none.
bool export_chunks(const Peer& peer, const layout::View& data, mem::device::Export* chunks);
// Starts to send Request::total_ bytes; false if there is no staging memory.
bool begin_send(int to_proc, Request& send, std::uint8_t way);
// Handles the return of a chunk; false if process `from_proc` does not have it.
[[nodiscard]] bool arrive_chunk(int from_proc, std::uint64_t memory, std::uint32_t chunk);
[[nodiscard]] PieceSends& sends();
// Handles the failure of a receiver (process_failure.hpp): frees its chunks, and ends sends to it.
void fail_pending(int proc);
// Ends copies for the process, and releases the memory shared with the peers of its transport, unless there are
// messages to another of them.
void leave_memory_shared_with(int proc);
// True if another process holds a chunk.
[[nodiscard]] bool chunks_away() noexcept;
void release_chunks();

// --- staged_receive.cpp ---

// Prepares to receive through these chunks; false if the receiver cannot reach them.
bool accept_chunks(const layout::View& data, int from_proc, const mem::device::Export& chunks);
// Handles a piece; false if it is not part of the message, or is not in the memory of process `from_proc`.
[[nodiscard]] bool arrive_piece(int from_proc, Request& receive, const transport::Header& header,
                                const std::byte* payload, std::size_t bytes);
// Forgets the memory that the process shares, once copies from it have ended.
void leave_memory_of(int from_proc);
// Forgets memory that the process has freed.
void forget(int from_proc, std::uint64_t memory);
bool advance_receives();
[[nodiscard]] bool receiving() noexcept;
[[nodiscard]] bool holds_receive(const Request& receive) noexcept;
void release_mappings();

}  // namespace hr::p2p::staged

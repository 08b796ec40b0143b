// Active messages: messages of layers above p2p that no receive matches. On arrival, each is passed to the handler
// of its kind, within the receiver's progress.
//
// There are two forms: a layer with its own wire::Kind (rma/) sends headers; the others use an ActiveMessageId, and
// send a subject and some bytes.
//
// Order: active messages to one process arrive in the order they were sent. They may overtake messages of send() and
// isend() that wait for space, but are never overtaken by them. An active message arrives once there is space and its
// receiver makes progress, unless one of the two processes fails first; a late one, from a process already marked as
// failed here, is delivered with ActiveMessage::sender_failed set. A handler may send, post receives and unpack, but
// must not make progress. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/core/wire.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Sets the handler of a kind; called once per kind, after init(). The kind is in the lowest 8 bits of the header's
// first word.
void set_active_message_handler(wire::Kind kind, transport::Handler handler) noexcept;
// *bytes: receives the maximum payload length. Errors: as for send_active_message().
Status longest_active_message(int proc, std::size_t* bytes);
// Sends a copy, now or as soon as there is space. Errors: MPIX_ERR_PROC_FAILED if that process has failed,
// MPI_ERR_OTHER if no transport reaches it.
Status send_active_message(int proc, const transport::Header& header, const void* payload = nullptr,
                           std::size_t bytes = 0);

enum class ActiveMessageId : std::uint8_t { kRevoked, kConsensus, kCheck, kOpenChannel };
inline constexpr std::size_t kActiveMessageIds = 4;

struct ActiveMessage {
  int from;
  bool sender_failed;  // the sender has failed
  std::uint64_t subject;
  const std::byte* payload;
  std::size_t bytes;
};
using ActiveMessageHandler = void (*)(const ActiveMessage& message);

// Sets the handler of an id; null: its messages are dropped.
void set_active_message_handler(ActiveMessageId id, ActiveMessageHandler handler);
// Sends at most longest_active_message() bytes; drops them if the process has failed.
void send_active_message(int proc, ActiveMessageId id, std::uint64_t subject, const void* payload, std::size_t bytes);

}  // namespace hr::p2p

// Steps of messages that several folders of this layer use: declared here, and each defined in the folder to which it
// belongs.
//
// Internal to p2p/. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "p2p/core/engine.hpp"

namespace hr::p2p {

// Rebuilds the list of active transports.
void list_transports();

// Adds the handlers of this layer's kinds of messages (message/receive.cpp).
void add_handlers(transport::MessageHandlers& handlers);
// Sets another handler for short eager messages while tools listen for messages. Call when tools begin or cease to
// listen.
void watch_messages();
struct Arrival;
std::span<const Arrival> active_message_arrivals() noexcept;  // message/active_message.cpp

// True if this receive is to be interrupted for this reason (failure/process_failure.cpp).
[[nodiscard]] bool may_be_interrupted(const Request& receive, Status why) noexcept;
void interrupt(Request& receive, Status why);
// Cancels a pending send or receive (MPI_Cancel; message/request.cpp).
Status cancel_message(Request& request);
// Asks the receiver of a send to drop the message unless a receive has matched it. The send then ends as cancelled, or
// with the error that is recorded in it; also if the receiver leaves MPI without an answer (message/unanswered.cpp).
void ask_to_cancel(Request& send);
// Ends such a send once it is known that no receive has matched it. False if this process is copying its data.
bool end_unmatched(Request& send);
// For a thread that waits for a message, to probe it (message/unanswered.cpp): returns MPI_ERR_OTHER if no such message
// can arrive any more, because every process that may send it has left MPI; before, it delivers everything that they
// have sent. kOk also if the message is there.
Status can_be_sent(const Envelope& wanted);
// True if the calling thread, which has waited for long, should look for processes that have left MPI: once in some
// milliseconds, so that looking costs nothing.
bool should_look_for_left() noexcept;
// Passes the send to the transport, or queues it (message/send.cpp).
void start_send(Peer& peer, Request& send);
// Posts the receive, or completes it from an unexpected message (message/receive.cpp).
void start_receive(Request& receive);
// Delivers a matched unexpected message to its receive, and destroys the record.
void consume(Unexpected* message, Request& receive);
// Sends a protocol message, now or as soon as there is space; does nothing if the process has failed. The payload is at
// most Caps::max_payload bytes long. If sending fails, the process is marked as failed.
void send_control(int proc, const transport::Header& header, const void* payload = nullptr, std::size_t bytes = 0);
// Sends the messages queued for this peer, or ends them if the process has failed; true if something moved
// (message/send.cpp).
bool flush(Peer& peer);
// Sends the next piece of a rendezvous send as Data; Status::again() if there is no space (protocol/stream.cpp).
Status push_piece(Peer& peer, Request& send);
// Tells the receiver that the rest of a message, after `sent` bytes, cannot be read, and why (protocol/stream.cpp).
void abandon(int to_proc, const Request& send, std::size_t sent, const std::string& why);
// Moves pieces of the front stream; true if something moved (protocol/stream.cpp).
bool push_stream(Peer& peer);
void mark_busy(Peer& peer);

// Ends sends and receives that can no longer complete (message/end_pending.cpp).
void end_pending();

// Completes a request, and may destroy it. If the completion carries an error, the current detail becomes its text.
inline void complete(Request& request, const Completion& completion) {
  request.finish(completion);
  if (request.engine_reference_) {
    request.engine_reference_ = false;
    release(&request);
  }
}
// Creates a point-to-point request, with the references that it needs. Null: no memory.
inline Request* make_request(const layout::View& data, bool is_receive, const Envelope& envelope, int proc) {
  Request* request =
      Arena<Request>::instance().create(is_receive, envelope.context, envelope.source, envelope.tag, proc);
  if (request == nullptr) [[unlikely]]
    return nullptr;
  request->view_ = data;
  // The type of a pending operation may be freed by the program (section 5.1.9).
  request->type_ = Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(data.type));
  return request;
}
// Returns the completion of a message of `bytes` bytes received into `capacity` bytes; MPI_ERR_TRUNCATE if it does not
// fit.
Completion received(const Envelope& message, std::size_t bytes, std::size_t capacity);

}  // namespace hr::p2p

// Receiving: what an arriving message does, and what starting a receive does. Both end in the same meeting of a
// message with a posted receive.
#include <cstring>

#include "base/apart.hpp"
#include "base/short_copy.hpp"
#include "mem/cuda/context.hpp"
#include "p2p/attendance.hpp"
#include "p2p/device_get.hpp"
#include "p2p/device_put.hpp"
#include "p2p/engine.hpp"
#include "p2p/loss.hpp"
#include "p2p/rendezvous.hpp"
#include "p2p/shared_copy.hpp"
#include "p2p/staged.hpp"

namespace hr::p2p {
namespace {

using wire::Kind;

Request& request_of(std::uint64_t cookie) { return *reinterpret_cast<Request*>(cookie); }

// Eager data meets its receive: the usual case, then any.
inline bool finish_plain(Request& receive, const Envelope& envelope, const std::byte* payload, std::size_t bytes) {
  if (bytes > receive.view_.packed || !receive.view_.plain_host()) [[unlikely]]
    return false;
  copy_short(receive.view_.data(), payload, bytes);
  complete(receive, {envelope.source, envelope.tag, bytes, false, kOk});
  return true;
}

[[gnu::noinline]] void finish_eager(Request& receive, const Envelope& envelope, const std::byte* payload,
                                    std::size_t bytes) {
  const std::size_t fits = bytes < receive.view_.packed ? bytes : receive.view_.packed;
  Completion completion = received(envelope, bytes, receive.view_.packed);
  if (receive.view_.plain_host()) [[likely]] {
    if (fits != 0) std::memcpy(receive.view_.data(), payload, fits);
  } else if (fits != 0) {
    const Status status = layout::unpack(receive.view_, 0, fits, payload);
    if (!status.ok()) completion.error = status;
  }
  complete(receive, completion);
}

[[gnu::noinline]] void keep_eager(int from, const Envelope& envelope, const std::byte* data, std::size_t bytes,
                                  const std::uint64_t* ack) {
  Unexpected* message = Unexpected::create(bytes);
  message->envelope = {apart(envelope.context), apart(envelope.source), apart(envelope.tag)};
  message->from_proc = from;
  message->bytes = bytes;
  message->wants_ack = ack != nullptr;
  if (ack != nullptr) message->sender_cookie = *ack;
  if (bytes != 0) std::memcpy(message->payload, data, bytes);
  matcher(envelope.context).keep(message);
}

inline void arrive_eager(int from, const Envelope& envelope, const std::byte* data, std::size_t bytes) {
  Request* receive = matcher(envelope.context).match_posted(envelope);
  if (receive == nullptr) [[unlikely]]
    return keep_eager(from, envelope, data, bytes, nullptr);
  if (!finish_plain(*receive, envelope, data, bytes)) [[unlikely]]
    finish_eager(*receive, envelope, data, bytes);
}

void arrive_eager_sync(int from, const Envelope& envelope, const std::byte* payload, std::size_t bytes) {
  wire::EagerSyncHead head;
  std::memcpy(&head, payload, sizeof head);
  const std::byte* data = payload + sizeof head;
  bytes -= sizeof head;
  Request* receive = matcher(envelope.context).match_posted(envelope);
  if (receive == nullptr) return keep_eager(from, envelope, data, bytes, &head.sender_cookie);
  finish_eager(*receive, envelope, data, bytes);
  send_answer(from, wire::answer(Kind::kSyncAck, head.sender_cookie));
}

void arrive_rts(int from, const Envelope& envelope, std::size_t bytes, const std::byte* payload,
                std::size_t payload_bytes) {
  Matcher& queues = matcher(envelope.context);
  if (Request* receive = queues.match_posted(envelope)) {
    begin_rendezvous(*receive, announcement_of(envelope, from, bytes, payload, payload_bytes));
    return;
  }
  Unexpected* message = Unexpected::create(payload_bytes);
  message->envelope = envelope;
  message->from_proc = from;
  message->bytes = bytes;
  message->rendezvous = true;
  wire::Rts rts;
  std::memcpy(&rts, payload, sizeof rts);
  message->sender_cookie = rts.sender_cookie;
  message->payload_bytes = payload_bytes;
  std::memcpy(message->payload, payload, payload_bytes);
  queues.keep(message);
}

// Sender and receiver see the same end: whoever has met its receive is not here any more.
void arrive_cancel(int from, std::uint32_t context, std::uint64_t sender_cookie) {
  Matcher& queues = matcher(context);
  Unexpected* message = queues.find_sent(from, sender_cookie);
  if (message == nullptr) return;
  queues.take(*message);
  Unexpected::destroy(message);
  send_answer(from, wire::answer(Kind::kCancelled, sender_cookie));
}

void arrive_cancelled(Request& send) {
  Completion completion;
  completion.cancelled = true;
  complete(send, completion);
}

void arrive_cts(int from, std::uint64_t sender_cookie, const std::byte* payload) {
  wire::Cts cts;
  std::memcpy(&cts, payload, sizeof cts);
  Request& send = request_of(sender_cookie);
  shared_copy::withdraw(send);
  static_cast<void>(mem::cuda::Context::meet(send.view_.where, cts.place));
  const auto way = static_cast<std::uint8_t>(cts.way);
  Peer& peer = peer_of(from);
  peer.place = cts.place;
  send.peer_cookie_ = cts.receiver_cookie;
  send.total_ = cts.bytes;
  send.offset_ = 0;
  send.phase_ = Request::Phase::kMoving;
  if ((way & wire::kPut) != 0 ? device_put::begin_send(from, send, payload + sizeof cts)
                              : way != 0 && staged::begin_send(from, send, way))
    return;
  peer.streams.push_back(send);
  mark_busy(peer);
}

}  // namespace

Completion received(const Envelope& message, std::size_t bytes, std::size_t capacity) {
  Completion completion;
  completion.source = message.source;
  completion.tag = message.tag;
  completion.bytes = bytes < capacity ? bytes : capacity;
  if (bytes > capacity) [[unlikely]] {
    completion.error =
        fail(Errc::kTruncate, "the message from rank %d with tag %d has %zu bytes, the receive buffer holds %zu",
             message.source, message.tag, bytes, capacity);
  }
  return completion;
}

namespace {

void deliver_eager(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  arrive_eager(from, wire::envelope_of(header), payload, bytes);
}
void deliver_eager_sync(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  arrive_eager_sync(from, wire::envelope_of(header), payload, bytes);
}
void deliver_sync_ack(int, const transport::Header& header, const std::byte*, std::size_t) {
  complete(request_of(header.words[2]), Completion{});
}
void deliver_rts(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  arrive_rts(from, wire::envelope_of(header), header.words[2], payload, bytes);
}
void deliver_cts(int from, const transport::Header& header, const std::byte* payload, std::size_t) {
  arrive_cts(from, header.words[2], payload);
}
void deliver_data(int, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  arrive_data(request_of(header.words[1]), header.words[2], payload, bytes);
}
void deliver_done(int, const transport::Header& header, const std::byte*, std::size_t) {
  shared_copy::released(request_of(header.words[2]));
}
void deliver_share(int from, const transport::Header& header, const std::byte* payload, std::size_t) {
  shared_copy::help(from, request_of(header.words[2]), payload);
}
void deliver_shared(int from, const transport::Header& header, const std::byte*, std::size_t) {
  shared_copy::helped(from, request_of(header.words[2]), header.words[1], wire::way(header) != 0);
}
void deliver_ask(int from, const transport::Header& header, const std::byte*, std::size_t) {
  device_get::arrive_ask(from, request_of(header.words[2]));
}
void deliver_ready(int from, const transport::Header& header, const std::byte*, std::size_t) {
  device_get::arrive_ready(from, header.words[2]);
}
void deliver_revoke(int from, const transport::Header& header, const std::byte*, std::size_t) {
  staged::forget(from, header.words[2]);
  mem::forget_peer_memory(from, header.words[2]);
}
void deliver_piece(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  staged::arrive_piece(from, request_of(header.words[1]), header, payload, bytes);
}
void deliver_chunk(int, const transport::Header& header, const std::byte*, std::size_t) {
  staged::arrive_chunk(header.words[1], wire::chunk_of(header));
}
void deliver_stored(int, const transport::Header& header, const std::byte*, std::size_t) {
  Request& receive = request_of(header.words[1]);
  account(receive, receive.total_, kOk);
}
void deliver_refuse(int from, const transport::Header&, const std::byte*, std::size_t) { mem::keep_chunks_from(from); }
void deliver_cancel(int from, const transport::Header& header, const std::byte*, std::size_t) {
  arrive_cancel(from, wire::envelope_of(header).context, header.words[2]);
}
void deliver_cancelled(int, const transport::Header& header, const std::byte*, std::size_t) {
  arrive_cancelled(request_of(header.words[2]));
}

// What names a request: that of a lost process has ended.
template <transport::Handler kDeliver>
void of_the_living(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (!is_lost(from)) [[likely]]
    kDeliver(from, header, payload, bytes);
}

constexpr struct {
  Kind kind;
  transport::Handler handler;
} kHandlers[] = {
    {Kind::kEager, deliver_eager},
    {Kind::kEagerSync, deliver_eager_sync},
    {Kind::kSyncAck, of_the_living<deliver_sync_ack>},
    {Kind::kRts, deliver_rts},
    {Kind::kCts, of_the_living<deliver_cts>},
    {Kind::kData, of_the_living<deliver_data>},
    {Kind::kDone, of_the_living<deliver_done>},
    {Kind::kShare, of_the_living<deliver_share>},
    {Kind::kShared, of_the_living<deliver_shared>},
    {Kind::kAsk, of_the_living<deliver_ask>},
    {Kind::kReady, of_the_living<deliver_ready>},
    {Kind::kRevoke, deliver_revoke},
    {Kind::kPiece, of_the_living<deliver_piece>},
    {Kind::kChunk, of_the_living<deliver_chunk>},
    {Kind::kStored, of_the_living<deliver_stored>},
    {Kind::kRefuse, deliver_refuse},
    {Kind::kCancel, of_the_living<deliver_cancel>},
    {Kind::kCancelled, of_the_living<deliver_cancelled>},
};

}  // namespace

void add_handlers(transport::Handlers& handlers) {
  for (const auto& each : kHandlers) handlers[static_cast<std::size_t>(each.kind)] = each.handler;
}

void consume(Unexpected* message, Request& receive) {
  if (message->rendezvous) {
    begin_rendezvous(receive, announcement_of(message->envelope, message->from_proc, message->bytes, message->payload,
                                              message->payload_bytes));
  } else {
    if (message->wants_ack) send_answer(message->from_proc, wire::answer(Kind::kSyncAck, message->sender_cookie));
    finish_eager(receive, message->envelope, message->payload, message->bytes);
  }
  Unexpected::destroy(message);
}

namespace {

[[gnu::cold, gnu::noinline]] Status no_memory() {
  return fail(Errc::kNoMem, "no memory for another request (%zu are live)", Arena<Request>::instance().live());
}

// With a message that is here already, or because none will come.
bool end_at_once(Matcher& queues, Request& receive) {
  const Envelope wanted{receive.context_, apart(receive.source_), apart(receive.tag_)};
  if (Unexpected* message = queues.find(wanted)) {
    queues.take(*message);
    consume(message, receive);
    return true;
  }
  const Status why = hopeless(wanted);
  if (why.ok()) return false;
  Completion completion;
  completion.error = why;
  complete(receive, completion);
  return true;
}

// Posts it, or completes it from an unexpected message.
inline void begin_receive(Request& receive) {
  Matcher& queues = matcher(receive.context_);
  if (queues.look_first()) [[unlikely]] {
    if (end_at_once(queues, receive)) return;
  }
  receive.phase_ = Request::Phase::kPosted;
  queues.post(receive);
}

Status receive_with(Request& request, const layout::View& data, const Envelope& wanted, Completion* completion) {
  request.view_ = data;
  request.context_ = wanted.context;
  request.source_ = wanted.source;
  request.tag_ = wanted.tag;
  begin_receive(request);
  {
    const Attendance attendance(request);
    HR_TRY(wait_until([&] { return request.complete(); }));
  }
  *completion = request.completion_;
  if (request.fence_ != nullptr) [[unlikely]]
    request.fence_.reset();
  if (!completion->error.ok()) [[unlikely]]
    set_detail(request.detail());
  return completion->error;
}

}  // namespace

void start_receive(Request& receive) { begin_receive(receive); }

// The request of the engine, or one like it: the program does not see it, and it is complete when this returns.
Status receive(const layout::View& data, const Envelope& wanted, Completion* completion) {
  Engine& state = *engine();
  if (state.lone_receive_taken) [[unlikely]] {
    Request* const request = Arena<Request>::instance().create(true, wanted.context, wanted.source, wanted.tag, -1);
    if (request == nullptr) return no_memory();
    const Status status = receive_with(*request, data, wanted, completion);
    release(request);
    return status;
  }
  state.lone_receive_taken = true;
  Request& request = state.lone_receive;
  request.begin();
  const Status status = receive_with(request, data, wanted, completion);
  state.lone_receive_taken = false;
  return status;
}

namespace {

// With what all of them have in common.
inline Request* receive_of_one_run() {
  Arena<Request>& arena = Arena<Request>::instance();
  Request* request = arena.take_up();
  if (request == nullptr) [[unlikely]] {
    request = arena.create();
    if (request == nullptr) return nullptr;
    request->is_receive_ = request->as_new_ = request->view_.contiguous = true;
  }
  request->begin();
  return request;
}

inline void begin_ireceive(Request& request, Request** out) {
  request.retain();
  request.engine_reference_ = true;
  *out = &request;
  begin_receive(request);
}

}  // namespace

Status ireceive(const layout::View& data, const Envelope& wanted, Request** out) {
  Request* request = make_request(data, true, wanted, -1);
  if (request == nullptr) [[unlikely]]
    return no_memory();
  begin_ireceive(*request, out);
  return kOk;
}

Status ireceive_run(void* buffer, Count count, const layout::Datatype& type, std::size_t bytes, const Envelope& wanted,
                    Request** out) {
  Request* request = receive_of_one_run();
  if (request == nullptr) [[unlikely]]
    return no_memory();
  request->context_ = wanted.context;
  request->source_ = apart(wanted.source);
  request->tag_ = apart(wanted.tag);
  layout::View& view = request->view_;
  view.address = static_cast<std::byte*>(buffer);
  view.count = count;
  view.type = &type;
  view.packed = bytes;
  request->type_ = Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(&type));
  begin_ireceive(*request, out);
  return kOk;
}

}  // namespace hr::p2p

// Receiving: handles arriving messages and starts receives. Both steps match messages with receives.
#include <cstring>

#include "base/dropped.hpp"
#include "base/events.hpp"
#include "base/short_copy.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/counting.hpp"
#include "p2p/partitioned/partitioned_operation.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/freed_exports.hpp"
#include "p2p/protocol/rendezvous.hpp"
#include "p2p/protocol/transport_data.hpp"
#include "p2p/wait/resident_copy_scope.hpp"

namespace hr::p2p {
namespace {

using wire::Kind;

// Both complete a receive with eager data. finish_plain() handles only the usual case, contiguous host memory that is
// large enough, and returns false in all others.
inline bool finish_plain(Request& receive, const Envelope& envelope, const std::byte* payload, std::size_t bytes) {
  if (bytes > receive.view_.packed || !receive.view_.allows_memcpy()) [[unlikely]]
    return false;
  copy_short(receive.view_.data(), payload, bytes);
  complete(receive, {envelope.source, envelope.tag, bytes, false, kOk});
  return true;
}

[[gnu::noinline]] void finish_eager(Request& receive, const Envelope& envelope, const std::byte* payload,
                                    std::size_t bytes) {
  const std::size_t fits = bytes < receive.view_.packed ? bytes : receive.view_.packed;
  Completion completion = received(envelope, bytes, receive.view_.packed);
  if (receive.view_.allows_memcpy()) [[likely]] {
    if (fits != 0) std::memcpy(receive.view_.data(), payload, fits);
  } else if (fits != 0) {
    count_to(receive.view_.where, bytes);
    const Status status = layout::unpack(receive.view_, 0, fits, payload);
    if (!status.ok()) completion.error = status;
  }
  complete(receive, completion);
}

bool is_nobodys(const Matcher& queues) noexcept { return &queues == &engine()->no_matcher; }
constexpr const char* kNoContext = "there is no such context";

[[gnu::noinline]] void keep_eager(int from, const Envelope& envelope, const std::byte* data, std::size_t bytes,
                                  const std::uint64_t* ack) {
  Matcher& queues = matcher(envelope.context);
  if (is_nobodys(queues)) return drop_message(from, kNoContext);
  Unexpected* message = Unexpected::create(bytes);
  message->envelope = {envelope.context, envelope.source, envelope.tag};
  message->from_proc = from;
  message->bytes = bytes;
  message->wants_ack = ack != nullptr;
  if (ack != nullptr) message->sender_cookie = *ack;
  if (bytes != 0) std::memcpy(message->payload, data, bytes);
  queues.keep(message);
}

inline void arrive_eager(int from, const Envelope& envelope, const std::byte* data, std::size_t bytes) {
  count_eager(bytes);
  Request* receive = matcher(envelope.context).match_posted(envelope);
  if (receive == nullptr) [[unlikely]]
    return keep_eager(from, envelope, data, bytes, nullptr);
  if (!finish_plain(*receive, envelope, data, bytes)) [[unlikely]]
    finish_eager(*receive, envelope, data, bytes);
}

using events::Event;

void tell_unexpected(const Envelope& envelope, std::size_t bytes) {
  events::emit(Event::message_unexpected,
               {envelope.source, envelope.tag, envelope.context, static_cast<std::int64_t>(bytes)});
}
[[gnu::cold, gnu::noinline]] void report_match(const Request& receive, const Envelope& envelope, std::size_t bytes,
                                               bool came_before) {
  if (match_checker != nullptr) match_checker(receive, envelope);
  events::emit(Event::message_matched, {envelope.source, envelope.tag, envelope.context,
                                        static_cast<std::int64_t>(bytes), came_before ? 1 : 0});
}
inline void tell_matched(const Request& receive, const Envelope& envelope, std::size_t bytes, bool came_before) {
  if (events::wanted()) [[unlikely]]
    report_match(receive, envelope, bytes, came_before);
}

// Handles eager messages while tools listen for messages (watch_messages()).
void arrive_eager_with_events(int from, const Envelope& envelope, const std::byte* data, std::size_t bytes) {
  count_eager(bytes);
  Request* receive = matcher(envelope.context).match_posted(envelope);
  if (receive == nullptr) {
    tell_unexpected(envelope, bytes);
    return keep_eager(from, envelope, data, bytes, nullptr);
  }
  tell_matched(*receive, envelope, bytes, false);
  if (!finish_plain(*receive, envelope, data, bytes)) finish_eager(*receive, envelope, data, bytes);
}

void arrive_eager_sync(int from, const Envelope& envelope, const std::byte* payload, std::size_t bytes) {
  wire::EagerSyncHead head;
  if (bytes < sizeof head) return drop_message(from, "it is shorter than its head");
  std::memcpy(&head, payload, sizeof head);
  const std::byte* data = payload + sizeof head;
  bytes -= sizeof head;
  count_eager(bytes);
  Request* receive = matcher(envelope.context).match_posted(envelope);
  if (receive == nullptr) {
    tell_unexpected(envelope, bytes);
    return keep_eager(from, envelope, data, bytes, &head.sender_cookie);
  }
  tell_matched(*receive, envelope, bytes, false);
  finish_eager(*receive, envelope, data, bytes);
  send_control(from, wire::answer(Kind::kSyncAck, head.sender_cookie));
}

void arrive_rts(int from, const Envelope& envelope, std::size_t bytes, const std::byte* payload,
                std::size_t payload_bytes) {
  Matcher& queues = matcher(envelope.context);
  if (is_nobodys(queues)) {
    transport_data::drop(from, payload, payload_bytes);
    return drop_message(from, kNoContext);
  }
  if (Request* receive = queues.match_posted(envelope)) {
    tell_matched(*receive, envelope, bytes, false);
    begin_rendezvous(*receive, read_rts(envelope, from, bytes, payload, payload_bytes));
    return;
  }
  tell_unexpected(envelope, bytes);
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

// Drops the message if it is still unmatched, and answers; a message that has matched its receive is no longer in the
// queue.
void arrive_cancel(int from, std::uint32_t context, std::uint64_t sender_cookie, bool answer) {
  Matcher& queues = matcher(context);
  Unexpected* message = queues.find_sent(from, sender_cookie);
  if (message == nullptr) {
    if (answer) send_control(from, wire::answer(Kind::kNotCancelled, sender_cookie));
    return;
  }
  queues.take(*message);
  send_control(from, wire::answer(Kind::kCancelled, sender_cookie));
  if (message->rendezvous) transport_data::drop(from, message->payload, message->payload_bytes);
  Unexpected::destroy(message);
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
void deliver_eager_with_events(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  arrive_eager_with_events(from, wire::envelope_of(header), payload, bytes);
}
void deliver_eager_sync(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  arrive_eager_sync(from, wire::envelope_of(header), payload, bytes);
}
bool deliver_sync_ack(int, Request& send, const transport::Header&, const std::byte*, std::size_t) {
  if (!send.synchronous_ || is_held(send)) return false;
  complete(send, Completion{});
  return true;
}
void deliver_rts(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (!is_rts(from, payload, bytes)) return drop_arrival(from, header, payload, bytes);
  arrive_rts(from, wire::envelope_of(header), header.words[2], payload, bytes);
}
bool deliver_cts(int from, Request& send, const transport::Header&, const std::byte* payload, std::size_t bytes) {
  return clear_to_send(from, send, payload, bytes);
}
bool deliver_done(int, Request& send, const transport::Header&, const std::byte*, std::size_t) {
  release_send(send);
  return true;
}
void deliver_cancel(int from, const transport::Header& header, const std::byte*, std::size_t) {
  arrive_cancel(from, wire::envelope_of(header).context, header.words[2], wire::way(header) != 0);
}
bool deliver_cancelled(int, Request& send, const transport::Header&, const std::byte*, std::size_t) {
  return end_unmatched(send);
}

// Handlers of the kinds that belong to no protocol or to all of them.
constexpr Arrival kArrivals[] = {
    {Kind::kEager, deliver_eager},
    {Kind::kEagerSync, deliver_eager_sync},
    arrival_at_send<deliver_sync_ack>(Kind::kSyncAck),
    {Kind::kRts, deliver_rts},
    arrival_at_send<deliver_cts, sizeof(wire::Cts)>(Kind::kCts),
    arrival_at_send<deliver_done>(Kind::kDone),
    arrival<deliver_cancel>(Kind::kCancel),
    arrival_at_send<deliver_cancelled>(Kind::kCancelled),
};

void add(transport::MessageHandlers& handlers, std::span<const Arrival> arrivals) {
  for (const Arrival& each : arrivals) handlers[static_cast<std::size_t>(each.kind)] = each.handler;
}

}  // namespace

void add_handlers(transport::MessageHandlers& handlers) {
  add(handlers, kArrivals);
  add(handlers, freed_exports::arrivals());
  add(handlers, partitioned_arrivals());
  add(handlers, active_message_arrivals());
  for (const Rendezvous* each : protocols()) add(handlers, each->arrivals);
}

void watch_messages() {
  if (engine() == nullptr) return;
  engine()->handlers.of_kind[static_cast<std::size_t>(Kind::kEager)] =
      events::wanted() ? deliver_eager_with_events : deliver_eager;
}

void consume(Unexpected* message, Request& receive) {
  tell_matched(receive, message->envelope, message->bytes, true);
  if (message->rendezvous) {
    begin_rendezvous(receive, read_rts(message->envelope, message->from_proc, message->bytes, message->payload,
                                       message->payload_bytes));
  } else {
    if (message->wants_ack) send_control(message->from_proc, wire::answer(Kind::kSyncAck, message->sender_cookie));
    finish_eager(receive, message->envelope, message->payload, message->bytes);
  }
  Unexpected::destroy(message);
}

namespace {

[[gnu::cold, gnu::noinline]] Status no_memory() {
  return fail(Errc::kNoMem, "no memory for another request (%zu are live)", Arena<Request>::instance().live());
}

// Ends the receive with a message that has arrived already, or because none will arrive; false if it must wait.
bool end_at_once(Matcher& queues, Request& receive) {
  const Envelope wanted{receive.context_, receive.source_, receive.tag_};
  if (Unexpected* message = queues.find(wanted)) {
    queues.take(*message);
    consume(message, receive);
    return true;
  }
  const Status why = can_complete(wanted);
  if (why.ok()) return false;
  if (may_be_interrupted(receive, why)) {
    receive.phase_ = Request::Phase::kPosted;
    queues.post(receive);
    interrupt(receive, why);
    return true;
  }
  Completion completion;
  completion.error = why == Errc::kProcFailedPending ? Status(Errc::kProcFailed) : why;
  complete(receive, completion);
  return true;
}

// Posts the receive, or completes it from an unexpected message.
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
    const ResidentCopyScope resident_copies(request);
    HR_TRY(wait_until([&] { return request.complete(); }, &request));
  }
  *completion = request.completion_;
  if (!completion->error.ok()) [[unlikely]]
    set_detail(request.detail());
  return completion->error;
}

}  // namespace

void start_receive(Request& receive) { begin_receive(receive); }

// Uses the engine's request, or a similar one: the program never sees it, and it is complete on return.
Status receive(const layout::View& data, const Envelope& wanted, Completion* completion) {
  Engine& state = *engine();
  if (state.blocking_receive_taken) [[unlikely]] {
    Request* const request = Arena<Request>::instance().create(true, wanted.context, wanted.source, wanted.tag, -1);
    if (request == nullptr) return no_memory();
    const Status status = receive_with(*request, data, wanted, completion);
    release(request);
    return status;
  }
  state.blocking_receive_taken = true;
  Request& request = state.blocking_receive;
  request.begin();
  const Status status = receive_with(request, data, wanted, completion);
  state.blocking_receive_taken = false;
  return status;
}

namespace {

// Returns a request in which the fields common to all receives into contiguous host memory are set.
inline Request* reuse_contiguous_receive() {
  Arena<Request>& arena = Arena<Request>::instance();
  Request* request = arena.reuse();
  if (request == nullptr) [[unlikely]] {
    request = arena.create();
    if (request == nullptr) return nullptr;
    request->is_receive_ = request->recyclable_ = request->view_.contiguous = true;
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

Status ireceive_contiguous(void* buffer, Count count, const layout::Datatype& type, std::size_t bytes,
                           const Envelope& wanted, Request** out) {
  Request* request = reuse_contiguous_receive();
  if (request == nullptr) [[unlikely]]
    return no_memory();
  request->context_ = wanted.context;
  request->source_ = wanted.source;
  request->tag_ = wanted.tag;
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

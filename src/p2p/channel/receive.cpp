// Receiving on a channel.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/lock.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel/arrivals.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {

using channel::Kind;

namespace {

// Bytes of a message from which on the help of the sender is worth two more messages.
constexpr std::size_t kWorthSharing = std::size_t{64} << 10;

// Payload of the record of an unexpected ready-to-send message.
struct Ready {
  std::uint64_t address = 0;
  transport::RendezvousData data;
};

}  // namespace

Channel::Queues* Channel::make_queues(std::uint32_t context) {
  if (context >= kMostContexts) return nullptr;
  if (context >= queues_.size()) queues_.resize(std::size_t{context} + 1);
  queues_[context] = std::make_unique<Queues>(ApartAccounts{&counts_});
  if (failures_ != 0) queues_[context]->look_for_failures();  // try_fail() has told only the others
  return queues_[context].get();
}

Unexpected* Channel::make_unexpected(std::size_t payload_bytes) {
  if (payload_bytes > kSpareBytes) return Unexpected::create_apart(payload_bytes);
  if (spare_.empty()) return Unexpected::create_apart(kSpareBytes);
  Unexpected* const message = spare_.back();
  spare_.pop_back();
  return message;
}

void Channel::end_unexpected(Unexpected* message) noexcept {
  if (message->allocated != sizeof(Unexpected) + kSpareBytes || spare_.size() == kMostSpare)
    return Unexpected::destroy_apart(message);
  message->rendezvous = false;
  message->sender_cookie = 0;
  message->payload_bytes = 0;
  spare_.push_back(message);
}

// Completes a receive whose data has arrived in the buffer, or in the operation's copy.
void Channel::finish_received(ChannelOperation& operation, Completion& completion, std::size_t bytes) {
  if (operation.type && bytes != 0) {
    const LibraryGuard guard;
    const Status status = layout::unpack(operation.view, 0, bytes, operation.data);
    if (!status.ok()) completion.error = status;
  }
  finish(operation, completion);
}

void Channel::fill_slowly(ChannelOperation& operation, const Envelope& envelope, const std::byte* data,
                          std::size_t bytes) {
  const std::size_t fits = std::min(bytes, operation.bytes);
  Completion completion = received(envelope, bytes, operation.bytes);
  if (operation.type && fits != 0) {
    const LibraryGuard guard;
    const Status status = layout::unpack(operation.view, 0, fits, data);
    if (!status.ok()) completion.error = status;
  } else if (fits != 0) {
    std::memcpy(operation.data, data, fits);
  }
  finish(operation, completion);
}

// Reads the data of a matched message from its sender, or requests it.
void Channel::fetch(ChannelOperation& operation, int from, const Envelope& envelope, std::size_t bytes,
                    std::uint64_t sender, std::uint64_t address, transport::RendezvousData data) {
  channel::tell_begun(from, envelope.tag, bytes);
  if (from == own_) {
    ChannelOperation* send = operation_of(sender, own_, false);
    if (send == nullptr) return channel::drop(from, "the send that it names has ended");
    count_received(local_copy_, bytes);
    const std::size_t fits = std::min(send->bytes, operation.bytes);
    fill_from(*send, operation, envelope);
    channel::tell_ended(from, envelope.tag, fits, kOk);
    finish_send(*send);
    return wake_sleepers();
  }
  const std::size_t fits = std::min(bytes, operation.bytes);
  Completion completion = received(envelope, bytes, operation.bytes);
  if ((address == channel::kOnDevice || (operation.on_device && data.token == 0)) && fits != 0)
    return fetch_by_engine(operation, from, envelope, completion, sender);
  if (operation.type && fits != 0) {
    operation.copy = std::make_unique_for_overwrite<std::byte[]>(fits);
    operation.data = operation.copy.get();
  }
  Peer* to = nullptr;
  if (const Status status = peer(from, &to); !status.ok()) {
    completion.error = status;
    return finish(operation, completion);
  }
  if (data.token != 0) {
    count_received(stream_, bytes);
    return land(operation, *to, completion, fits, data);
  }
  std::string why = completion.error.ok() ? std::string() : take_detail();
  const bool readable = to->memory != nullptr && address != channel::kUnreadable;
  Request& request = *operation.request;
  // If threads share cores, a sender that helps would compete with the reader for a core. The system may refuse to
  // write memory that a driver has mapped.
  if (readable && fits >= kWorthSharing && !operation.registered && !to->over->shared_words(own_).empty() &&
      !cores_are_shared()) {
    request.completion_ = completion;
    request.detail_ = std::move(why);
    operation.total = fits;
    operation.announced = bytes;
    return share(operation, *to, sender, address);
  }
  Status fetched = kOk;
  if (fits != 0) {
    const transport::RemotePart part{address, operation.data, fits};
    fetched = readable ? to->memory->get(from, nullptr, {&part, 1}, nullptr) : Status(Errc::kUnsupportedOperation);
  }
  if (fetched.ok()) {
    control(from, channel::plain(Kind::kDone, 0, sender));
    count_received(fits != 0 ? single_copy_ : 0, bytes);
    if (fits != 0) count(Statistic::single_copies);
    channel::tell_ended(from, envelope.tag, fits, kOk);
    set_detail(std::move(why));
    return finish_received(operation, completion, fits);
  }
  static_cast<void>(take_detail());
  if (address != channel::kUnreadable) to->memory = nullptr;
  request.proc_ = from;
  request.completion_ = completion;
  request.detail_ = std::move(why);
  operation.total = fits;
  count_received(stream_, bytes);
  request_stream(operation, sender);
}

void Channel::request_stream(ChannelOperation& operation, std::uint64_t sender) {
  Request& request = *operation.request;
  request.phase_ = Request::Phase::kMoving;
  operation.moved = 0;
  const std::uint64_t wanted = operation.total;
  control(request.proc_, channel::plain(Kind::kCts, cookie_of(operation), sender), &wanted, sizeof wanted);
}

void Channel::land(ChannelOperation& operation, Peer& from, const Completion& completion, std::size_t fits,
                   transport::RendezvousData data) {
  if (fits == 0) {
    from.over->decline_rendezvous(from.proc, data);
    channel::tell_ended(from.proc, completion.tag, 0, kOk);
    Completion ended = completion;
    return finish_received(operation, ended, 0);
  }
  Request& request = *operation.request;
  request.phase_ = Request::Phase::kMoving;
  request.proc_ = from.proc;
  request.completion_ = completion;
  request.detail_ = completion.error.ok() ? std::string() : take_detail();
  operation.total = fits;
  begin_transfer(operation);
  operation.transfer.sink.address = operation.data;
  operation.transfer.sink.bytes = fits;
  operation.transfer.active = true;
  const Status status = from.over->receive_rendezvous(from.proc, data, &operation.transfer.sink, &operation.transfer);
  if (status.ok()) return;
  operation.transfer.active = false;
  Completion failed;
  failed.error = status;
  finish(operation, failed);
}

void Channel::take_message(ChannelOperation& operation, Unexpected* message) {
  channel::tell_matched(message->envelope, message->bytes, true);
  if (message->rendezvous) {
    Ready ready;
    if (message->payload_bytes == sizeof ready) std::memcpy(&ready, message->payload, sizeof ready);
    fetch(operation, message->from_proc, message->envelope, message->bytes, message->sender_cookie, ready.address,
          ready.data);
  } else {
    fill(operation, message->envelope, message->payload, message->bytes);
  }
  end_unexpected(message);
}

void Channel::begin_receive_slowly(ChannelOperation& operation, Queues& here) {
  Request& request = *operation.request;
  Completion completion;
  completion.error = here.ended();
  if (!completion.error.ok()) return finish(operation, completion);
  if (Unexpected* message = here.find({request.context_, request.source_, request.tag_}); message != nullptr) {
    here.take(*message);
    return take_message(operation, message);
  }
  if (failures_ != 0) {
    completion.error = can_arrive(communicator_of(operation), request.source_);
    if (!completion.error.ok()) return finish(operation, completion);
  }
  request.phase_ = Request::Phase::kPosted;
  here.post(request);
}

Status Channel::receive(const ChannelBuffer& data, const Envelope& wanted, Object* communicator,
                        Completion* completion) {
  const std::lock_guard<SpinLock> guard(lock_);
  ChannelOperation* operation = take(true, wanted, -1, {communicator, nullptr});
  if (operation == nullptr) return no_memory();
  Request& request = *operation->request;
  static_cast<void>(describe(*operation, data, false));
  begin_receive(*operation, *queues(wanted.context));
  complete_now(request);
  *completion = request.completion_;
  if (!completion->error.ok()) set_detail(std::string(request.detail()));
  give(*operation);
  return completion->error;
}

Status Channel::ireceive(const ChannelBuffer& data, const Envelope& wanted, const ChannelUser& user, Request** out) {
  const std::lock_guard<SpinLock> guard(lock_);
  ChannelOperation* operation = take(true, wanted, -1, user);
  if (operation == nullptr) return no_memory();
  static_cast<void>(describe(*operation, data, false));
  *out = operation->request;
  begin_receive(*operation, *queues(wanted.context));
  end_rest(*operation->request);
  return kOk;
}

Status Channel::imreceive(const ChannelBuffer& data, Unexpected* message, const ChannelUser& user, Request** out) {
  const std::lock_guard<SpinLock> guard(lock_);
  ChannelOperation* operation = take(true, message->envelope, -1, user);
  if (operation == nullptr) return no_memory();
  static_cast<void>(describe(*operation, data, false));
  *out = operation->request;
  take_message(*operation, message);
  end_rest(*operation->request);
  return kOk;
}

void Channel::arrive_eager(int from, const Envelope& envelope, const std::byte* data, std::size_t bytes) {
  Queues* here = queues(envelope.context);
  if (here == nullptr) return channel::drop(from, "there is no such context");
  count_received(0, bytes);
  if (Request* receive = here->match_posted(envelope); receive != nullptr) [[likely]] {
    channel::tell_matched(envelope, bytes, false);
    return fill(*receive->operation_, envelope, data, bytes);
  }
  channel::tell_unexpected(envelope, bytes);
  Unexpected* message = make_unexpected(bytes);
  message->envelope = envelope;
  message->from_proc = from;
  message->bytes = bytes;
  if (bytes != 0) std::memcpy(message->payload, data, bytes);
  here->keep(message);
}

void Channel::arrive_rts(int from, const Envelope& envelope, std::size_t bytes, std::uint64_t sender,
                         std::uint64_t address, transport::RendezvousData data) {
  Queues* here = queues(envelope.context);
  if (here == nullptr) return channel::drop(from, "there is no such context");
  Peer* to = nullptr;
  if (data.token != 0 && (!peer(from, &to).ok() || !to->over->has_rendezvous(from, data)))
    return channel::drop(from, "a ready-to-send message of a channel names data that nobody keeps");
  if (Request* receive = here->match_posted(envelope); receive != nullptr) {
    channel::tell_matched(envelope, bytes, false);
    return fetch(*receive->operation_, from, envelope, bytes, sender, address, data);
  }
  channel::tell_unexpected(envelope, bytes);
  const Ready ready{address, data};
  Unexpected* message = make_unexpected(sizeof ready);
  message->envelope = envelope;
  message->from_proc = from;
  message->bytes = bytes;
  message->rendezvous = true;
  message->sender_cookie = sender;
  message->payload_bytes = sizeof ready;
  std::memcpy(message->payload, &ready, sizeof ready);
  here->keep(message);
}

void Channel::arrive_data(int from, std::uint64_t receiver, std::size_t offset, const std::byte* data,
                          std::size_t bytes) {
  ChannelOperation* operation = operation_of(receiver, from, true);
  if (operation == nullptr) return;
  Request& request = *operation->request;
  const bool expected = request.phase_ == Request::Phase::kMoving && request.proc_ == from &&
                        !operation->transfer.active && offset == operation->moved &&
                        bytes <= operation->total - operation->moved;
  if (!expected) return channel::drop(from, "a piece of a message does not follow the one before");
  std::memcpy(operation->data + offset, data, bytes);
  operation->moved += bytes;
  if (operation->moved < operation->total) return;
  Completion completion = request.completion_;
  channel::tell_ended(from, completion.tag, operation->total, kOk);
  set_detail(std::move(request.detail_));
  finish_received(*operation, completion, operation->total);
}

void Channel::arrive_cancel(int from, std::uint32_t context, std::uint64_t sender) {
  Queues* here = queues(context);
  Unexpected* message = here == nullptr ? nullptr : here->find_sent(from, sender);
  if (message == nullptr) return;  // the message has matched, and the send runs to completion
  here->take(*message);
  Ready ready;
  if (message->payload_bytes == sizeof ready) std::memcpy(&ready, message->payload, sizeof ready);
  end_unexpected(message);
  if (from == own_) return arrive_cancelled(own_, sender);
  control(from, channel::plain(Kind::kCancelled, 0, sender), nullptr, 0, ready.data);
}

}  // namespace hr::p2p

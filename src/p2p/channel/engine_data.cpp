// Data that the engine moves for messages of a channel, because it comes from a device, or goes to one.
//
// The message has matched on its channel, so the engine needs neither order nor wildcards: the receiver posts a receive
// with a unique tag (kChannelDataContext), and the sender answers with a send. Truncation is found on the channel, as
// for other messages. The engine ends its requests if the other process fails.
#include <cstring>

#include "base/lock.hpp"
#include "layout/op.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel/arrivals.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/counting.hpp"

namespace hr::p2p {

using channel::Kind;

namespace {

// Returns a tag that no receive of this process in progress has. Threads: library lock.
int take_tag() noexcept {
  static std::uint32_t last = 0;
  return static_cast<int>(++last & INT32_MAX);
}

Envelope envelope_on_engine(std::uint32_t context, int source, int tag) noexcept {
  return {context + kChannelDataContext, source, tag};
}

// Describes the data of an operation. Threads: library lock.
Status view_of(const ChannelOperation& operation, bool described, layout::View* view) {
  if (!described)
    return layout::make_view(operation.data, static_cast<Count>(operation.bytes), *layout::predefined_type(abi::kByte),
                             view);
  *view = operation.view;
  return kOk;
}

}  // namespace

void Channel::fill_from(ChannelOperation& send, ChannelOperation& receive, const Envelope& envelope) {
  if (!send.on_device) return fill(receive, envelope, send.data, send.bytes);
  Completion completion = received(envelope, send.bytes, receive.bytes);
  const LibraryGuard guard;
  layout::View to;
  Status copied = receive.bytes == 0 ? kOk : view_of(receive, bool(receive.type), &to);
  if (copied.ok() && receive.bytes != 0) copied = layout::copy(send.view, to);
  if (!copied.ok()) completion.error = copied;
  finish(receive, completion);
}

void Channel::give_to_engine(ChannelOperation& operation, Request* moving) {
  operation.request->phase_ = Request::Phase::kMoving;
  operation.plain = false;
  operation.by_engine = moving;
  by_engine_.push_back(&operation);
  any_by_engine_.store(true, std::memory_order_relaxed);
}

void Channel::fetch_by_engine(ChannelOperation& operation, int from, const Envelope& envelope,
                              const Completion& completion, std::uint64_t sender) {
  Request& request = *operation.request;
  request.proc_ = from;
  request.completion_ = completion;
  request.detail_ = completion.error.ok() ? std::string() : take_detail();
  std::uint64_t tag = 0;
  Request* moving = nullptr;
  Status begun = kOk;
  {
    const LibraryGuard guard;
    tag = static_cast<std::uint64_t>(take_tag());
    layout::View view;
    begun = view_of(operation, bool(operation.type), &view);
    if (begun.ok())
      begun =
          p2p::ireceive(view, envelope_on_engine(envelope.context, envelope.source, static_cast<int>(tag)), &moving);
  }
  channel::set_delivering(this);  // the engine may have made a round of another channel
  if (!begun.ok()) {
    Completion failed = completion;
    failed.error = begun;
    control(from, channel::plain(Kind::kDone, 0, sender));
    return finish(operation, failed);
  }
  give_to_engine(operation, moving);
  control(from, channel::plain(Kind::kWanted, cookie_of(operation), sender), &tag, sizeof tag);
}

void Channel::arrive_wanted(int from, std::uint64_t sender, std::uint64_t receiver, int tag) {
  ChannelOperation* const operation = operation_of(sender, from, false);
  if (operation == nullptr || operation->request->phase_ != Request::Phase::kWaiting || operation->transfer.active)
    return;
  const Request& request = *operation->request;
  Request* moving = nullptr;
  Status begun = kOk;
  {
    const LibraryGuard guard;
    layout::View view;
    begun = view_of(*operation, operation->on_device, &view);
    if (begun.ok())
      begun =
          p2p::isend(view, from, envelope_on_engine(request.context_, request.source_, tag), Mode::kStandard, &moving);
  }
  channel::set_delivering(this);
  if (begun.ok()) return give_to_engine(*operation, moving);
  const std::string why = take_detail();
  control(from, channel::plain(Kind::kFailed, receiver, 0));
  set_detail(std::string(why));
  Completion failed;
  failed.error = begun;
  finish(*operation, failed);
}

void Channel::arrive_failed(int from, std::uint64_t receiver) {
  ChannelOperation* const operation = operation_of(receiver, from, true);
  if (operation == nullptr || operation->by_engine == nullptr || operation->request->proc_ != from) return;
  const LibraryGuard guard;
  static_cast<void>(p2p::cancel(*operation->by_engine));
}

bool Channel::end_engine_moves() {
  bool ended = false;
  for (std::size_t i = 0; i < by_engine_.size();) {
    ChannelOperation& operation = *by_engine_[i];
    if (!operation.by_engine->complete()) {
      ++i;
      continue;
    }
    by_engine_[i] = by_engine_.back();
    by_engine_.pop_back();
    end_engine_move(operation);
    ended = true;
  }
  any_by_engine_.store(!by_engine_.empty(), std::memory_order_relaxed);
  return ended;
}

void Channel::end_engine_move(ChannelOperation& operation) {
  Request& request = *operation.request;
  Completion completion;
  std::string why;
  if (request.is_receive_) {
    completion = request.completion_;
    why = std::move(request.detail_);
  }
  {
    const LibraryGuard guard;
    Request* const moved = std::exchange(operation.by_engine, nullptr);
    const Status error = moved->completion_.error;
    if (moved->completion_.cancelled) {
      completion.error = fail(Errc::kOther, "rank %d could not send the data of its message", request.proc_);
      why = take_detail();
    } else if (!error.ok() && !(request.is_receive_ && error == Errc::kTruncate)) {
      completion.error = error;
      why = moved->detail();
    }
    release_request(moved);
  }
  if (request.is_receive_) channel::tell_ended(request.proc_, completion.tag, operation.bytes, completion.error);
  set_detail(std::move(why));
  finish(operation, completion);
}

}  // namespace hr::p2p

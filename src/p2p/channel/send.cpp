// Sending on a channel.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/knobs.hpp"
#include "base/lock.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel/arrivals.hpp"
#include "p2p/process_failure.hpp"

namespace hr::p2p {

using channel::Kind;

void Channel::limit(Peer& to, const transport::Caps& caps) {
  to.most = caps.max_payload;
  to.eager_bytes = std::min(caps.eager_bytes != 0 ? caps.eager_bytes : knobs().eager_bytes, caps.max_payload);
  to.chunk = caps.chunk_bytes;
}

Status Channel::connect(Peer& to) {
  if (to.failed) {
    const LibraryGuard guard;
    return failure_error(to.proc);
  }
  const bool first = transport_->reaches(to.proc);
  to.over = first ? transport_.get() : second_.load(std::memory_order_acquire);
  to.whole = first ? whole_ : second_whole_;
  if (to.over == nullptr) return fail(Errc::kOther, "channel %d has no path to rank %d", number_, to.proc);
  HR_TRY(to.over->connect(to.proc));
  const transport::Caps caps = to.over->caps(to.proc);
  limit(to, caps);
  to.rendezvous = caps.rendezvous;
  to.memory = to.whole->caps(to.proc).remote_read ? to.whole : nullptr;
  to.connected = true;
  to.eager_below = to.eager_bytes + 1;
  return kOk;
}

Status Channel::peer(int proc, Peer** out) {
  std::unique_ptr<Peer>& entry = peers_[static_cast<std::size_t>(proc)];
  if (entry == nullptr) {
    entry = std::make_unique<Peer>();
    entry->proc = proc;
    const LibraryGuard guard;
    const auto peer_class = proc == own_                           ? counters::PeerClass::kSelf
                            : boot::processes().on_this_host(proc) ? counters::PeerClass::kHost
                                                                   : counters::PeerClass::kOtherHost;
    entry->sent = &counts_.peers[&counters::row_of(proc, peer_class) - counters::page.peers].sent;
  }
  *out = entry.get();
  return entry->connected || proc == own_ ? kOk : connect(*entry);
}

void Channel::mark_busy(Peer& to) {
  to.eager_below = 0;
  if (std::exchange(to.busy, true)) return;
  busy_.push_back(&to);
}

// Describes the data, and packs it if it is not contiguous host memory. `copied`: the program may reuse its buffer on
// return.
Status Channel::describe_slowly(ChannelOperation& operation, const ChannelBuffer& data, bool copied) {
  operation.registered = data.view != nullptr && data.view->contiguous && data.view->where.is_host();
  if (operation.registered) operation.data = data.view->data();
  if (data.view != nullptr && !operation.registered) return describe_view(operation, *data.view, copied);
  if (!copied) return kOk;
  const std::byte* const from = operation.data;
  operation.registered = false;
  operation.copy = std::make_unique_for_overwrite<std::byte[]>(data.bytes + 1);
  operation.data = operation.copy.get();
  if (data.bytes != 0) std::memcpy(operation.data, from, data.bytes);
  return kOk;
}

// Describes data that is not contiguous host memory. A send copies it, except from a device.
Status Channel::describe_view(ChannelOperation& operation, const layout::View& view, bool copied) {
  const Request& request = *operation.request;
  const LibraryGuard guard;
  operation.view = view;
  operation.type = Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(view.type));
  const bool is_long = request.is_receive_ || view.packed > knobs().device_eager_bytes;
  operation.on_device = view.where.is_device() && is_long && !copied && !operation.buffered;
  if (request.is_receive_ || request.persistent() || operation.on_device) return kOk;
  operation.copy = std::make_unique_for_overwrite<std::byte[]>(view.packed);
  operation.data = operation.copy.get();
  const Status packed = layout::pack(view, 0, view.packed, operation.data);
  operation.type = {};
  return packed;
}

Status Channel::send_ready(Peer& to, ChannelOperation& operation, const transport::Header& header) {
  // Registered memory may be a driver's mapping, which other processes may not be able to read.
  const std::uint64_t address = operation.on_device    ? channel::kOnDevice
                                : operation.registered ? channel::kUnreadable
                                                       : reinterpret_cast<std::uint64_t>(operation.data);
  const channel::RtsBody body{cookie_of(operation), address};
  if (!to.rendezvous || operation.bytes == 0 || operation.on_device)
    return to.over->send(to.proc, header, &body, sizeof body);
  begin_transfer(operation);
  const Status status =
      to.over->send_rts(to.proc, header, &body, sizeof body, {operation.data, operation.bytes}, &operation.transfer);
  operation.transfer.active = status.ok();
  return status;
}

void Channel::begin_transfer(ChannelOperation& operation) {
  operation.plain = false;
  operation.transfer = {};
  operation.transfer.of = &operation;
  operation.transfer.then = [](transport::Operation& self) {
    ChannelOperation& ended = *static_cast<ChannelOperation::Transfer&>(self).of;
    ended.channel->end_transfer(ended);
  };
}

// Called by the transport, under the channel's lock.
void Channel::end_transfer(ChannelOperation& operation) {
  ChannelOperation::Transfer& transfer = operation.transfer;
  Request& request = *operation.request;
  transfer.active = false;
  Completion completion;
  if (!transfer.status.ok()) {
    if (!is_failed(request.proc_)) return;  // the transport reports the path, and try_fail() ends the operation
    const LibraryGuard guard;
    completion.error = failure_error(request.proc_);
    return finish(operation, completion);
  }
  if (request.is_receive_) {
    completion = request.completion_;
    channel::tell_ended(request.proc_, completion.tag, operation.total, kOk);
    set_detail(std::move(request.detail_));
    return finish_received(operation, completion, operation.total);
  }
  if (transfer.cancelled) return end_unmatched(operation);
  finish(operation, completion);
}

bool Channel::takes_less(Peer& to) {
  const transport::Caps now = to.over->caps(to.proc);
  if (now.max_payload >= to.most) return false;
  log::write(log::Level::kNote, "channel %d: longer messages to rank %d travel in small pieces: %s", number_, to.proc,
             take_detail().c_str());
  limit(to, now);
  to.eager_below = std::min(to.eager_below, to.eager_bytes + 1);
  return true;
}

// False if the message must wait for space. Completes the operation if it ends with this message, or on an error.
bool Channel::try_send(Peer& to, ChannelOperation& operation) {
  Request& request = *operation.request;
  const Envelope envelope{request.context_, request.source_, request.tag_};
  const bool eager = !request.synchronous_ && operation.bytes <= to.eager_bytes && !operation.on_device;
  Completion completion;
  if (!eager && std::exchange(operation.eager, false)) {  // takes_less()
    completion.error = queues(request.context_)->ended();
    if (!completion.error.ok()) return finish(operation, completion), true;
    counters::add_to(counts_.rendezvous, operation.bytes);
  }
  const Status status = eager ? to.over->send(to.proc, channel::envelope(Kind::kEager, envelope, operation.bytes),
                                              operation.data, operation.bytes)
                              : send_ready(to, operation, channel::envelope(Kind::kRts, envelope, operation.bytes));
  if (status.is_again()) return false;
  if (eager && !status.ok() && takes_less(to)) return try_send(to, operation);
  request.phase_ = Request::Phase::kWaiting;
  if (eager || !status.ok()) {
    completion.error = status;
    if (!status.ok()) {
      const LibraryGuard guard;
      if (has_failed(to.proc)) completion.error = failure_error(to.proc);
    }
    finish(operation, completion);
  }
  return true;
}

void Channel::count_start(const Peer& to, const ChannelOperation& operation, bool eager) noexcept {
  counters::count_sent(counts_, *to.sent, operation.bytes);
  if (!eager) counters::add_to(counts_.rendezvous, operation.bytes);
}

void Channel::begin_send(Peer& to, ChannelOperation& operation) {
  Request& request = *operation.request;
  const std::size_t eager_bytes = to.proc != own_ ? to.eager_bytes : knobs().eager_bytes;
  const bool kept = !request.synchronous_ && operation.bytes <= eager_bytes && !operation.on_device;
  operation.eager = kept;
  count_start(to, operation, kept || operation.on_device);  // the engine counts what it moves
  if (!kept) {
    // Nothing else would end a send that begins after its context has ended.
    Completion completion;
    completion.error = queues(request.context_)->ended();
    if (!completion.error.ok()) return finish(operation, completion);
  }
  if (to.proc != own_) {
    if (to.controls.empty() && to.queued.empty() && try_send(to, operation)) return;
    request.phase_ = Request::Phase::kQueued;
    to.queued.push_back(request);
    return mark_busy(to);
  }
  // Matches a message to this process itself.
  const Envelope envelope{request.context_, request.source_, request.tag_};
  Queues& here = *queues(request.context_);
  request.phase_ = Request::Phase::kWaiting;
  if (kept) count_received(0, operation.bytes);
  if (Request* receive = here.match_posted(envelope); receive != nullptr) {
    channel::tell_matched(envelope, operation.bytes, false);
    if (!kept) {
      count_received(local_copy_, operation.bytes);
      channel::tell_begun(own_, envelope.tag, operation.bytes);
      channel::tell_ended(own_, envelope.tag, std::min(operation.bytes, receive->operation_->bytes), kOk);
    }
    fill_from(operation, *receive->operation_, envelope);
    finish_send(operation);
    return wake_sleepers();
  }
  channel::tell_unexpected(envelope, operation.bytes);
  Unexpected* message = make_unexpected(kept ? operation.bytes : 0);
  message->envelope = envelope;
  message->from_proc = own_;
  message->bytes = operation.bytes;
  message->rendezvous = !kept;
  message->sender_cookie = cookie_of(operation);
  if (kept && operation.bytes != 0) std::memcpy(message->payload, operation.data, operation.bytes);
  here.keep(message);
  if (kept) finish_send(operation);
  wake_sleepers();  // a thread that probes
}

// Sends a short message of contiguous data if nothing waits in front of it; false if it has not been sent.
[[gnu::always_inline]] inline bool Channel::send_eager(const ChannelBuffer& data, int proc, const Envelope& envelope,
                                                       Mode mode) {
  const Peer* const to = peers_[static_cast<std::size_t>(proc)].get();
  if (to == nullptr || data.bytes >= to->eager_below || mode == Mode::kSynchronous || data.view != nullptr) [[unlikely]]
    return false;
  const Status status =
      to->over->send(proc, channel::envelope(Kind::kEager, envelope, data.bytes), data.data, data.bytes);
  if (!status.ok()) [[unlikely]]
    return false;
  counters::count_sent(counts_, *to->sent, data.bytes);
  return true;
}

Status Channel::send(const ChannelBuffer& data, int proc, const Envelope& envelope, Mode mode) {
  const std::lock_guard<SpinLock> guard(lock_);
  if (send_eager(data, proc, envelope, mode)) [[likely]]
    return kOk;
  Peer* to = nullptr;
  HR_TRY(peer(proc, &to));
  ChannelOperation* operation = take(false, envelope, proc, {});
  if (operation == nullptr) return no_memory();
  Request& request = *operation->request;
  request.synchronous_ = mode == Mode::kSynchronous;
  Status status = describe(*operation, data, false);
  if (status.ok()) {
    begin_send(*to, *operation);
    complete_now(request);
    status = request.completion_.error;
    if (!status.ok()) set_detail(std::string(request.detail()));
  }
  give(*operation);
  return status;
}

Status Channel::isend(const ChannelBuffer& data, int proc, const Envelope& envelope, Mode mode, const ChannelUser& user,
                      Request** out) {
  const std::lock_guard<SpinLock> guard(lock_);
  if (send_eager(data, proc, envelope, mode)) [[likely]] {
    *out = done_;
    return kOk;
  }
  Peer* to = nullptr;
  HR_TRY(peer(proc, &to));
  ChannelOperation* operation = take(false, envelope, proc, user);
  if (operation == nullptr) return no_memory();
  operation->request->synchronous_ = mode == Mode::kSynchronous;
  if (const Status status = describe(*operation, data, false); !status.ok()) {
    give(*operation);
    return status;
  }
  *out = operation->request;
  begin_send(*to, *operation);
  end_rest(*operation->request);
  return kOk;
}

Status Channel::send_copy(const ChannelBuffer& data, int proc, const Envelope& envelope) {
  const std::lock_guard<SpinLock> guard(lock_);
  Peer* to = nullptr;
  HR_TRY(peer(proc, &to));
  ChannelOperation* operation = take(false, envelope, proc, {});
  if (operation == nullptr) return no_memory();
  if (const Status status = describe(*operation, data, true); !status.ok()) {
    give(*operation);
    return status;
  }
  operation->freed = true;
  const Request& request = *operation->request;
  begin_send(*to, *operation);
  end_rest(request);
  return kOk;
}

Status Channel::pair(const ChannelBuffer& out_data, bool copied, int proc, const Envelope& envelope,
                     const ChannelBuffer& in_data, const Envelope& wanted, const ChannelUser& user, Request** out) {
  const std::lock_guard<SpinLock> guard(lock_);
  const bool sends = proc >= 0;
  const bool receives = wanted.source != abi::kProcNull;
  Peer* to = nullptr;
  if (sends) HR_TRY(peer(proc, &to));
  ChannelOperation* whole = take(true, wanted, -1, user);
  ChannelOperation* send = sends ? take(false, envelope, proc, {}) : nullptr;
  ChannelOperation* receive = receives ? take(true, wanted, -1, {}) : nullptr;
  Status status =
      whole == nullptr || (sends && send == nullptr) || (receives && receive == nullptr) ? no_memory() : kOk;
  if (status.ok() && sends) status = describe(*send, out_data, copied);
  if (status.ok() && receives) status = describe(*receive, in_data, false);
  if (!status.ok()) {
    for (ChannelOperation* each : {whole, send, receive}) {
      if (each != nullptr) give(*each);
    }
    return status;
  }
  whole->plain = false;
  whole->request->completion_ = {};
  if (!receives) whole->request->completion_.source = abi::kProcNull;
  whole->request->detail_.clear();
  whole->parts = (sends ? 1 : 0) + (receives ? 1 : 0);
  for (ChannelOperation* each : {send, receive}) {
    if (each == nullptr) continue;
    each->whole = whole;
    each->plain = false;
  }
  *out = whole->request;
  if (receives) begin_receive(*receive, *queues(wanted.context));
  if (sends) begin_send(*to, *send);
  end_rest(**out);
  return kOk;
}

Status Channel::init(bool is_receive, const ChannelBuffer& data, int proc, const Envelope& envelope, Mode mode,
                     bool buffered, const ChannelUser& user, Request** out) {
  const std::lock_guard<SpinLock> guard(lock_);
  ChannelOperation* operation = take(is_receive, envelope, proc, user);
  if (operation == nullptr) return no_memory();
  Request& request = *operation->request;
  request.persistent_ = true;
  request.active_ = false;
  request.synchronous_ = mode == Mode::kSynchronous;
  operation->buffered = buffered;
  if (const Status status = describe(*operation, data, false); !status.ok()) {
    give(*operation);
    return status;
  }
  *out = &request;
  return kOk;
}

void Channel::control(int proc, const transport::Header& header, const void* payload, std::size_t bytes,
                      transport::RendezvousData declined) {
  Peer* to = nullptr;
  if (!peer(proc, &to).ok()) {
    const std::string why = take_detail();
    if (to->failed) return;
    to->eager_below = 0;
    if (!std::exchange(to->reported, true))
      log::write(log::Level::kError, "rank %d waits for an answer that cannot be sent yet: %s", proc, why.c_str());
  } else if (to->controls.empty()) {
    // If sending fails for good, the path has failed: the transport's report ends the operations with that process.
    if (!to->over->send(proc, header, payload, bytes).is_again()) {
      if (declined.token != 0) to->over->decline_rendezvous(proc, declined);
      return;
    }
  }
  Control& waiting = to->controls.emplace_back();
  waiting.header = header;
  waiting.bytes = bytes;
  waiting.declined = declined;
  if (bytes != 0) std::memcpy(waiting.payload, payload, bytes);
  mark_busy(*to);
}

// Sends the messages that wait for space at that process; true if something moved.
bool Channel::flush(Peer& to) {
  bool moved = false;
  if (!to.connected && !connect(to).ok()) {
    static_cast<void>(take_detail());
    to.eager_below = 0;
    return false;
  }
  const bool left = to.whole->has_left(to.proc);
  while (!to.controls.empty()) {
    const Control& first = to.controls.front();
    if (to.over->send(to.proc, first.header, first.payload, first.bytes).is_again() && !left) return moved;
    if (first.declined.token != 0) to.over->decline_rendezvous(to.proc, first.declined);
    to.controls.erase(to.controls.begin());
    moved = true;
  }
  while (Request* send = to.queued.pop_front()) {
    if (try_send(to, *send->operation_)) {
      moved = true;
      continue;
    }
    if (!left) {
      to.queued.push_front(*send);
      return moved;
    }
    Completion completion;
    completion.error = fail(Errc::kOther, "rank %d has left MPI (MPI_Finalize) and receives no more messages", to.proc);
    finish(*send->operation_, completion);
    moved = true;
  }
  while (Request* send = to.streams.front()) {
    ChannelOperation& operation = *send->operation_;
    const std::size_t piece = std::min(to.chunk, operation.total - operation.moved);
    const Status status = to.over->send(to.proc, channel::plain(Kind::kData, operation.receiver, operation.moved),
                                        operation.data + operation.moved, piece);
    if (status.is_again() && !left) return moved;
    if (!status.ok() && !left) {
      if (takes_less(to)) continue;
      static_cast<void>(take_detail());
      return moved;  // the path has failed, and try_fail() ends the operation
    }
    operation.moved += piece;
    moved = true;
    if (operation.moved < operation.total) continue;
    send->link_.unlink();
    finish_send(operation);
  }
  return moved;
}

void Channel::arrive_cts(int from, std::uint64_t sender, std::uint64_t receiver, std::size_t bytes) {
  ChannelOperation* operation = operation_of(sender, from, false);
  if (operation == nullptr || operation->request->phase_ != Request::Phase::kWaiting || operation->transfer.active ||
      operation->on_device || bytes > operation->bytes)
    return;
  operation->request->phase_ = Request::Phase::kMoving;
  operation->receiver = receiver;
  operation->moved = 0;
  operation->total = bytes;
  operation->read_again = false;
  Peer& to = *peers_[static_cast<std::size_t>(from)];
  to.streams.push_back(*operation->request);
  mark_busy(to);
}

void Channel::arrive_done(int from, std::uint64_t sender) {
  ChannelOperation* operation = operation_of(sender, from, false);
  const bool waits =
      operation != nullptr && operation->request->phase_ == Request::Phase::kWaiting && !operation->transfer.active;
  if (waits && !std::exchange(operation->read_again, false)) finish_send(*operation);
}

void Channel::arrive_cancelled(int from, std::uint64_t sender) {
  ChannelOperation* operation = operation_of(sender, from, false);
  if (operation == nullptr || operation->request->phase_ != Request::Phase::kWaiting) return;
  if (operation->transfer.active) {
    operation->transfer.cancelled = true;
    return;
  }
  end_unmatched(*operation);
}

void Channel::end_unmatched(ChannelOperation& operation) {
  Completion completion;
  completion.error = operation.transfer.why;
  completion.cancelled = completion.error.ok();
  if (!completion.error.ok()) set_detail(std::move(operation.transfer.text));
  finish(operation, completion);
}

}  // namespace hr::p2p

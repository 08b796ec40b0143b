// Long messages that both sides copy on a channel, as the engine's messages are (protocol/shared_copy.hpp): the
// receiver reads from the front, and the sender writes from the back, until nothing is left to claim (core/claims.hpp).
//
// The receiver tells the sender where to write (kShare), and claims and reads in the call or delivery that has matched
// the message; the sender claims and writes in the delivery of kShare. The receiver then sends kDone, and the sender
// kShared, if it has claimed anything. A copy is open only while the receiver reads, so each process needs one word of
// the channel: it is in the channel's part of the shared memory. If a side cannot access the other's memory, what it
// has claimed is copied by the other one: the receiver reads the sender's part and sends a second kDone, or, if it is
// the receiver that cannot read, the sender streams the whole message.
//
// A sender whose thread holds the library lock does not help, so that other threads need not wait for a long copy; nor
// does one whose answer would have to wait for space, as its program may not call MPI again for long.
//
// The sender writes into the buffer of a receive whose context has ended, or that is freed: such a receive stays until
// the sender has answered, or has failed.
#include "p2p/channel.hpp"
#include "p2p/channel/arrivals.hpp"
#include "p2p/core/claims.hpp"

namespace hr::p2p {

using channel::Kind;

void Channel::share(ChannelOperation& operation, Peer& from, std::uint64_t sender, std::uint64_t address) {
  Request& request = *operation.request;
  request.phase_ = Request::Phase::kMoving;
  request.proc_ = from.proc;
  request.peer_cookie_ = sender;
  operation.plain = false;
  operation.helped = true;
  operation.unreadable = false;
  operation.moved = 0;
  operation.address = address;
  Claims claims(from.over->shared_words(own_).front().value, ++generation_, operation.total);
  claims.open();
  const ChannelShare share{reinterpret_cast<std::uint64_t>(operation.data), operation.total, generation_};
  control(from.proc, channel::plain(Kind::kShare, cookie_of(operation), sender), &share, sizeof share);
  // Claims the rest even after a failure, so that the sender stops.
  for (Claims::Part each = claims.from_front(); each.bytes != 0; each = claims.from_front()) {
    const transport::RemotePart part{address + each.begin, operation.data + each.begin, each.bytes};
    if (!operation.unreadable) operation.unreadable = !from.memory->get(from.proc, nullptr, {&part, 1}, nullptr).ok();
  }
  if (operation.unreadable) {
    static_cast<void>(take_detail());
    from.memory = nullptr;
  } else {
    control(from.proc, channel::plain(Kind::kDone, 0, sender));
  }
  account_for(operation, claims.front_bytes());
}

void Channel::account_for(ChannelOperation& operation, std::size_t bytes) {
  Request& request = *operation.request;
  operation.moved += bytes;
  if (operation.moved < operation.total) return;
  operation.helped = false;
  count_received(operation.unreadable ? stream_ : single_copy_, operation.announced);
  if (operation.unreadable) return request_stream(operation, request.peer_cookie_);
  Completion completion = request.completion_;
  count(Statistic::single_copies);
  channel::tell_ended(request.proc_, completion.tag, operation.total, kOk);
  set_detail(std::move(request.detail_));
  finish_received(operation, completion, operation.total);
}

void Channel::arrive_share(int from, std::uint64_t sender, std::uint64_t receiver, const ChannelShare& share) {
  ChannelOperation* const operation = operation_of(sender, from, false);
  // The send has ended if the receiver has copied everything.
  if (operation == nullptr || operation->request->phase_ != Request::Phase::kWaiting || operation->transfer.active)
    return;
  Peer& to = *peers_[static_cast<std::size_t>(from)];
  const bool valid = !operation->on_device && !operation->registered && share.bytes <= operation->bytes;
  if (!helps_ || !valid || to.memory == nullptr || !to.writable || !to.controls.empty()) return;
  const auto words = to.over->shared_words(from);
  if (words.empty() || !to.over->has_space(from, 1)) return;
  Claims claims(words.front().value, static_cast<std::uint32_t>(share.generation), share.bytes);
  Status status = kOk;
  while (status.ok()) {
    const Claims::Part each = claims.from_back();
    if (each.bytes == 0) break;
    const transport::RemotePart part{share.address + each.begin, operation->data + each.begin, each.bytes};
    status = to.memory->put(from, nullptr, {&part, 1}, nullptr);
  }
  if (!claims.claimed()) return;
  if (!status.ok()) {
    static_cast<void>(take_detail());
    to.writable = false;
    operation->read_again = true;
  }
  control(from, channel::plain(Kind::kShared, receiver, claims.back_bytes(), status.ok() ? 0 : 1));
}

void Channel::arrive_shared(int from, std::uint64_t receiver, std::size_t bytes, bool failed) {
  ChannelOperation* const operation = operation_of(receiver, from, true);
  if (operation == nullptr) return;
  const Request& request = *operation->request;
  const bool expected = request.phase_ == Request::Phase::kMoving && request.proc_ == from && operation->helped &&
                        bytes <= operation->total - operation->moved;
  if (!expected) return channel::drop(from, "nobody has asked for help with the message");
  if (failed && !operation->unreadable) {
    Peer& to = *peers_[static_cast<std::size_t>(from)];
    const std::size_t begin = operation->total - bytes;
    const transport::RemotePart part{operation->address + begin, operation->data + begin, bytes};
    if (to.memory != nullptr && to.memory->get(from, nullptr, {&part, 1}, nullptr).ok()) {
      control(from, channel::plain(Kind::kDone, 0, request.peer_cookie_));
    } else {
      static_cast<void>(take_detail());
      to.memory = nullptr;
      operation->unreadable = true;
    }
  }
  account_for(*operation, bytes);
}

}  // namespace hr::p2p

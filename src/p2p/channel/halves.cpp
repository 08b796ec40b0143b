// Calls that send and receive on different channels, whose request is that of the receive.
//
// The receive stays incomplete after its message has arrived until the send, which belongs to another channel with
// another lock, is complete as well. Rounds of the receive's channel look at the send's completion flag, and only try
// to take the lock of the send's channel, because a thread there may do the same in the other direction.
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "p2p/channel.hpp"

namespace hr::p2p {

Status Channel::isend_copy(const ChannelBuffer& data, int proc, const Envelope& envelope, const ChannelUser& user,
                           Request** out) {
  const std::lock_guard<SpinLock> guard(lock_);
  Peer* to = nullptr;
  HR_TRY(peer(proc, &to));
  ChannelOperation* operation = take(false, envelope, proc, user);
  if (operation == nullptr) return no_memory();
  if (const Status status = describe(*operation, data, true); !status.ok()) {
    give(*operation);
    return status;
  }
  operation->is_half = true;
  *out = operation->request;
  begin_send(*to, *operation);
  end_rest(**out);
  return kOk;
}

void Channel::join_send(Request& receive, Request& send) {
  const std::lock_guard<SpinLock> guard(lock_);
  ChannelOperation& operation = *receive.operation_;
  operation.plain = false;
  operation.send_half = &send;
  if (!receive.complete()) return;
  receive.begin();  // no other thread has the request yet
  add_half(operation);
}

void Channel::add_half(ChannelOperation& receive) {
  if (end_half(receive)) return;
  halves_.push_back(&receive);
  any_halves_.store(true, std::memory_order_relaxed);
}

bool Channel::end_half(ChannelOperation& receive) {
  Request& send = *receive.send_half;
  if (!send.complete()) return false;
  Request& request = *receive.request;
  Completion completion = request.completion_;
  const Request& first = completion.error.ok() ? send : request;
  completion.error = first.completion_.error;
  // A request that has succeeded may still have the text of an earlier error.
  std::string why = completion.error.ok() ? std::string() : first.detail();
  if (!send.operation_->channel->try_give_back(send)) return false;
  receive.send_half = nullptr;
  if (!completion.error.ok()) set_detail(std::move(why));
  request.finish(completion);
  if (receive.freed) give(receive);
  return true;
}

bool Channel::try_give_back(Request& complete) {
  if (!lock_.try_lock()) return false;
  give(*complete.operation_);
  lock_.unlock();
  return true;
}

bool Channel::end_halves() {
  const auto ended = std::erase_if(halves_, [this](ChannelOperation* each) { return end_half(*each); });
  any_halves_.store(!halves_.empty(), std::memory_order_relaxed);
  return ended != 0;
}

}  // namespace hr::p2p

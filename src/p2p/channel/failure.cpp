// Failed processes on a channel.
#include <algorithm>

#include "base/lock.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel/arrivals.hpp"
#include "p2p/process_failure.hpp"

namespace hr::p2p {

bool Channel::is_failed(int proc) const noexcept {
  const Peer* const peer = proc < 0 ? nullptr : peers_[static_cast<std::size_t>(proc)].get();
  return peer != nullptr && peer->failed;
}

Status Channel::can_arrive(const Object* communicator, int source) {
  int failed = -1;
  if (source >= 0) {
    const int proc = channels::process_in(communicator, source);
    if (is_failed(proc)) failed = proc;
  }
  for (int rank = 0, proc = 0; source < 0 && failed < 0 && proc >= 0; ++rank) {
    proc = channels::process_in(communicator, rank);
    if (is_failed(proc)) failed = proc;
  }
  if (failed < 0) return kOk;
  const LibraryGuard guard;
  return failure_error(failed);
}

Status Channel::why_ends(const ChannelOperation& operation) {
  const Request& request = *operation.request;
  const bool is_free = !request.is(ObjectKind::kRequest) || !request.active() || request.complete();
  // The transport ends its transfers on a failed path, and the engine its requests.
  if (is_free || operation.transfer.active || operation.by_engine != nullptr) return kOk;
  switch (request.phase_) {
    case Request::Phase::kPosted:
      return can_arrive(communicator_of(operation), request.source_);
    case Request::Phase::kQueued:
    case Request::Phase::kWaiting:
    case Request::Phase::kMoving:
      return is_failed(request.proc_) ? failure_error(request.proc_) : Status(kOk);
    default:
      return kOk;
  }
}

bool Channel::try_fail(std::span<const int> failed) {
  if (failures_ == failed.size()) return true;
  if (!lock_.try_lock()) return false;
  for (const int proc : failed.subspan(failures_)) {
    if (static_cast<std::size_t>(proc) >= peers_.size()) continue;  // of another job
    auto& peer = peers_[static_cast<std::size_t>(proc)];
    if (peer == nullptr) {
      peer = std::make_unique<Peer>();
      peer->proc = proc;
    }
    peer->failed = true;
    peer->connected = false;
    peer->eager_below = 0;
    peer->controls.clear();
  }
  failures_ = failed.size();
  for (const auto& each : queues_) {
    if (each != nullptr) each->look_for_failures();
  }
  for (const auto& each : all_) {
    Completion completion;
    completion.error = why_ends(*each);
    if (completion.error.ok()) continue;
    Request& request = *each->request;
    if (request.phase_ == Request::Phase::kPosted) {
      queues(request.context_)->withdraw(request);
    } else if (!request.is_receive_ && request.phase_ != Request::Phase::kWaiting) {
      request.link_.unlink();  // of the peer's messages that wait for space
    }
    finish(*each, completion);
  }
  wake_sleepers();
  lock_.unlock();
  return true;
}

}  // namespace hr::p2p

#include "p2p/request.hpp"

#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/transport_data.hpp"
#include "p2p/wait/resident_copy_scope.hpp"

namespace hr::p2p {

Status RequestState::start(Request& /*request*/) {
  return fail(Errc::kRequest, "the request of a %s is not persistent and cannot be started", what());
}

Status RequestState::cancel(Request& /*request*/) { return fail(Errc::kRequest, "a %s cannot be cancelled", what()); }

bool RequestState::end_if_left(bool /*blocked*/) { return false; }

Status RequestState::may_free() const { return kOk; }

Status RequestState::query(Request& /*request*/, Completion* /*completion*/) { return kOk; }

Status RequestState::retire(Request& /*request*/) { return kOk; }

Request* completed_request(const Completion& completion) {
  Request* request = Arena<Request>::instance().create();
  if (request != nullptr) request->finish(completion);
  return request;
}

Status wait(Request& request) {
  const ResidentCopyScope resident_copies(request);
  return wait_until([&] { return request.complete() || !request.active(); }, &request);
}

namespace {

void complete_as_cancelled(Request& request) {
  Completion completion;
  completion.cancelled = true;
  complete(request, completion);
}

}  // namespace

Status cancel(Request& request) {
  if (!request.active()) return kOk;
  return request.state_ != nullptr ? request.state_->cancel(request) : cancel_message(request);
}

Status may_free(const Request& request) {
  return request.state_ == nullptr || !request.active() || request.complete() ? kOk : request.state_->may_free();
}

// Cancels a message, unless it has matched its receive, in which case it runs to completion (section 3.8.4).
Status cancel_message(Request& request) {
  using Phase = Request::Phase;
  // An interrupted receive (process_failure.hpp) appears complete, but is cancelled like any posted receive.
  if (request.complete() && request.phase_ != Phase::kPosted) return kOk;
  if (request.is_receive_ && request.phase_ == Phase::kPosted) {
    matcher(request.context_).withdraw(request);
    complete_as_cancelled(request);
  } else if (!request.is_receive_ && request.phase_ == Phase::kQueued) {
    request.link_.unlink();  // no other process knows of the request
    request.transfer_.reset();
    complete_as_cancelled(request);
  } else if (!request.is_receive_ && request.phase_ == Phase::kWaiting) {
    if (transport_data::cancel(request)) return kOk;
    // Only the receiver knows whether a receive has matched the send. The send ends with kCancelled, or with the
    // receiver's other messages.
    ask_to_cancel(request);
    // If both sides are in this process, waits for the answer here, because programs that send to themselves test right
    // after the call whether the send was cancelled.
    const Peer& peer = peer_of(request.proc_);
    while (peer.caps.same_address_space && !request.complete() && peer.transport->progress()) {
    }
  }
  return kOk;
}

}  // namespace hr::p2p

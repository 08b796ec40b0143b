// Ends the sends and receives that a process failure or the end of a context prevents from completing.
#include <vector>

#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/protocol/rendezvous.hpp"
#include "p2p/protocol/transport_data.hpp"

namespace hr::p2p {
namespace {

void fail_request(Request& request, Status error) {
  if (request.is_receive_) return finish_rendezvous(request, error);
  Completion completion;
  completion.error = error;
  finish_send(request, completion);
}

void end_receives() {
  std::vector<Request*> posted;
  for (const auto& each : engine()->matchers) {
    if (each != nullptr) each->for_each_posted([&](Request& receive) { posted.push_back(&receive); });
  }
  for (Request* receive : posted) {
    const Status why = can_complete({receive->context_, receive->source_, receive->tag_});
    if (why.ok()) continue;
    if (may_be_interrupted(*receive, why)) {
      interrupt(*receive, why);
      continue;
    }
    matcher(receive->context_).withdraw(*receive);
    Completion completion;
    completion.error = why == Errc::kProcFailedPending ? Status(Errc::kProcFailed) : why;
    complete(*receive, completion);
  }
}

// Asks the receiver, once, to drop the message of a send unless a receive has matched it.
void call_back(Request& send, Status why) {
  if (!send.completion_.error.ok()) return;
  send.completion_.error = why;
  send.detail_ = take_detail();
  if (transport_data::cancel(send)) return;
  ask_to_cancel(send);
}

// Ends sends to live processes if nothing may be sent on their context.
void end_sends() {
  std::vector<Request*> sends;
  Arena<Request>::instance().for_each([&](Request& each) {
    if (each.operation_ != nullptr) return;  // belongs to a channel, whose threads may be changing it
    const bool open = each.phase_ == Request::Phase::kQueued || each.phase_ == Request::Phase::kWaiting;
    if (!each.is_receive_ && open && each.proc_ >= 0 && !each.complete() && !has_failed(each.proc_))
      sends.push_back(&each);
  });
  for (Request* send : sends) {
    const Status why = may_send(send->context_);
    if (why.ok()) continue;
    if (send->phase_ == Request::Phase::kWaiting) {
      call_back(*send, why);
      continue;
    }
    send->link_.unlink();
    fail_request(*send, why);
  }
}

// True if the request waits for that process, and no protocol is copying its data here.
bool depends_on(const Request& request, int proc) {
  using Phase = Request::Phase;
  if (request.operation_ != nullptr || request.proc_ != proc || request.complete()) return false;
  if (request.phase_ != Phase::kWaiting && request.phase_ != Phase::kMoving) return false;
  return !is_held(request);
}

}  // namespace

void end_pending() {
  end_sends();
  end_receives();
}

void resume_interrupted(std::uint32_t context) {
  std::vector<Request*> interrupted;
  matcher(context).for_each_posted([&](Request& receive) {
    if (is_interrupted(receive)) interrupted.push_back(&receive);
  });
  for (Request* receive : interrupted) {
    receive->begin();
    receive->completion_ = {};
    receive->detail_.clear();
  }
  end_receives();
}

void fail_pending(Peer& peer) {
  const int proc = peer.proc;
  peer.control_messages.clear();
  for (auto* list : {&peer.queued, &peer.streams}) {
    while (Request* send = list->pop_front()) fail_request(*send, failure_error(proc));
  }
  for (const Rendezvous* each : protocols()) {
    if (each->fail_pending != nullptr) each->fail_pending(proc);
  }
  std::vector<Request*> ended;
  Arena<Request>::instance().for_each([&](Request& each) {
    if (depends_on(each, proc)) ended.push_back(&each);
  });
  Request& lone = engine()->blocking_receive;
  if (engine()->blocking_receive_taken && depends_on(lone, proc)) ended.push_back(&lone);
  for (Request* request : ended) fail_request(*request, failure_error(proc));
  end_pending();
}

}  // namespace hr::p2p

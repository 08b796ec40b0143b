#include "p2p/process_failure.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "boot/boot.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/protocol/rendezvous.hpp"
#include "p2p/protocol/transport_data.hpp"

namespace hr::p2p {
namespace {

int sender(std::uint32_t context, int index) {
  const auto ask = engine()->context_members.sender;
  return ask == nullptr ? -1 : ask(context, index);
}

void note_failure() {
  ++engine()->failures;
  for (const auto& each : engine()->matchers) {
    if (each != nullptr) each->look_for_failures();
  }
}

void fail_request(Request& request, Status error) {
  if (request.is_receive_) return finish_rendezvous(request, error);
  Completion completion;
  completion.error = error;
  finish_send(request, completion);
}

Status failed_now(Status why) { return why == Errc::kProcFailedPending ? Status(Errc::kProcFailed) : why; }

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
    completion.error = failed_now(why);
    complete(*receive, completion);
  }
}

// Asks the receiver, once, to cancel the send if it has not matched it.
void call_back(Request& send, Status why) {
  if (!send.completion_.error.ok()) return;
  send.completion_.error = why;
  send.detail_ = take_detail();
  if (transport_data::cancel(send)) return;
  send_control(send.proc_, wire::cancel(send.context_, reinterpret_cast<std::uint64_t>(&send)));
}

// Ends sends to live processes if nothing may be sent on their context any more.
void end_sends() {
  std::vector<Request*> sends;
  Arena<Request>::instance().for_each([&](Request& each) {
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

// Ignores this process itself, as it waits.
Status can_complete_from_any_source(std::uint32_t context) {
  const auto ask = engine()->context_members.acknowledged;
  const auto& all = engine()->failed_processes;
  const auto acknowledged = ask == nullptr ? all.end() : all.begin() + ask(context);
  int failed = -1;
  int news = -1;
  bool anyone = false;
  for (int index = 0;; ++index) {
    const int proc = sender(context, index);
    if (proc < 0) break;
    if (proc == engine()->rank) continue;
    if (!has_failed(proc)) {
      anyone = true;
      continue;
    }
    failed = proc;
    if (std::find(acknowledged, all.end(), proc) != all.end()) news = proc;
  }
  if (!anyone) return failed >= 0 ? failure_error(failed) : kOk;
  if (news < 0) return kOk;
  return fail(Errc::kProcFailedPending,
              "rank %d, from which a message may have been expected, cannot be reached any more: %s", news,
              peer_of(news).why_failed.c_str());
}

// True if the request waits for that process, and no protocol is copying its data here.
bool depends_on(const Request& request, int proc) {
  using Phase = Request::Phase;
  if (request.proc_ != proc || request.complete()) return false;
  if (request.phase_ != Phase::kWaiting && request.phase_ != Phase::kMoving) return false;
  return !is_held(request);
}

}  // namespace

bool may_be_interrupted(const Request& receive, Status why) noexcept {
  // The engine holds no reference to a blocking receive.
  return why == Errc::kProcFailedPending && receive.engine_reference_;
}

void interrupt(Request& receive, Status why) {
  receive.completion_.error = why;
  receive.detail_ = take_detail();
  receive.complete_.store(true, std::memory_order_release);
}

void set_context_members(const ContextMembers& members) {
  if (Engine* state = engine()) state->context_members = members;  // none in tests of comm/ alone
}

std::span<const int> failed_processes() noexcept {
  return engine() == nullptr ? std::span<const int>() : std::span<const int>(engine()->failed_processes);
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

bool has_failed(int proc) noexcept { return peer_of(proc).failed; }

Status failure_error(int proc) {
  return fail(Errc::kProcFailed, "rank %d cannot be reached any more: %s", proc, peer_of(proc).why_failed.c_str());
}

void mark_failed(int proc, Status why) {
  std::string text = take_detail();
  Peer& peer = make_peer(proc);
  if (peer.failed) return;
  peer.failed = true;
  engine()->failed_processes.push_back(proc);
  boot::processes().mark_failed(proc);
  peer.connected = false;
  peer.plain_below = 0;
  peer.why_failed = text.empty() ? "its path failed with error class " + std::to_string(why.code()) : std::move(text);
  log::write(log::Level::kDecision, "rank %d has failed: %s", proc, peer.why_failed.c_str());
  note_failure();
  mark_busy(peer);
  wake_waiting();
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
  end_sends();
  end_receives();
}

void end_context(std::uint32_t context, Status why) {
  std::string text = take_detail();
  matcher(context).end(why, text);
  note_failure();
  end_sends();
  end_receives();
  wake_waiting();
}

Status may_send(std::uint32_t context) {
  if (engine()->failures == 0) return kOk;
  HR_TRY(matcher(context).ended());
  const auto ask = engine()->context_members.missing;
  const int missing = ask == nullptr ? -1 : ask(context);
  return missing >= 0 ? failure_error(missing) : kOk;
}

Status can_complete(const Envelope& wanted) {
  if (engine()->failures == 0) return kOk;
  HR_TRY(may_send(wanted.context));
  if (wanted.source == abi::kAnySource) return can_complete_from_any_source(wanted.context);
  const auto ask = engine()->context_members.process_of;
  const int proc = ask == nullptr ? wanted.source : ask(wanted.context, wanted.source);
  return proc >= 0 && has_failed(proc) ? failure_error(proc) : kOk;
}

Status can_complete_unposted(const Envelope& wanted) { return failed_now(can_complete(wanted)); }

Status can_complete(std::uint32_t context) {
  if (engine()->failures == 0) return kOk;
  HR_TRY(matcher(context).ended());
  for (int index = 0;; ++index) {
    const int proc = sender(context, index);
    if (proc < 0) return kOk;
    if (has_failed(proc)) return failure_error(proc);
  }
}

}  // namespace hr::p2p

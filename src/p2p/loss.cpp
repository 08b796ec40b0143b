#include "p2p/loss.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "boot/boot.hpp"
#include "p2p/engine.hpp"
#include "p2p/rendezvous.hpp"

namespace hr::p2p {
namespace {

int sender(std::uint32_t context, int index) {
  const auto ask = engine()->context_members.sender;
  return ask == nullptr ? -1 : ask(context, index);
}

void note_ending() {
  ++engine()->endings;
  for (const auto& each : engine()->matchers) {
    if (each != nullptr) each->look_for_endings();
  }
}

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
    const Status why = hopeless({receive->context_, receive->source_, receive->tag_});
    if (why.ok()) continue;
    matcher(receive->context_).withdraw(*receive);
    Completion completion;
    completion.error = why;
    complete(*receive, completion);
  }
}

bool held(const Request& request) {
  return std::any_of(protocols().begin(), protocols().end(),
                     [&](const Rendezvous* each) { return each->holds != nullptr && each->holds(request); });
}

// Under way with that process, and known to nobody else here.
bool depends_on(const Request& request, int proc) {
  using Phase = Request::Phase;
  if (request.proc_ != proc || request.complete()) return false;
  if (request.phase_ != Phase::kWaiting && request.phase_ != Phase::kMoving) return false;
  return !held(request);
}

}  // namespace

void set_context_members(const ContextMembers& members) {
  if (Engine* state = engine()) state->context_members = members;  // none in tests of comm/ alone
}

bool is_lost(int proc) noexcept { return peer_of(proc).lost; }

Status lost_error(int proc) {
  return fail(Errc::kProcAborted, "rank %d cannot be reached any more: %s", proc, peer_of(proc).why_lost.c_str());
}

void lose(int proc, Status why) {
  std::string text = take_detail();
  Peer& peer = make_peer(proc);
  if (peer.lost) return;
  peer.lost = true;
  boot::processes().mark_lost(proc);
  peer.connected = false;
  peer.plain_below = 0;
  peer.why_lost = text.empty() ? "its path failed with error class " + std::to_string(why.code()) : std::move(text);
  log::write(log::Level::kDecision, "rank %d is lost: %s", proc, peer.why_lost.c_str());
  note_ending();
  mark_busy(peer);
  wake_waiting();
}

void end_lost(Peer& peer) {
  const int proc = peer.proc;
  peer.control_messages.clear();
  for (auto* list : {&peer.queued, &peer.streams}) {
    while (Request* send = list->pop_front()) fail_request(*send, lost_error(proc));
  }
  for (const Rendezvous* each : protocols()) {
    if (each->lose != nullptr) each->lose(proc);
  }
  std::vector<Request*> ended;
  Arena<Request>::instance().for_each([&](Request& each) {
    if (depends_on(each, proc)) ended.push_back(&each);
  });
  Request& lone = engine()->blocking_receive;
  if (engine()->blocking_receive_taken && depends_on(lone, proc)) ended.push_back(&lone);
  for (Request* request : ended) fail_request(*request, lost_error(proc));
  end_receives();
}

void end_context(std::uint32_t context, Status why) {
  std::string text = take_detail();
  matcher(context).end(why, text);
  note_ending();
  for (Peer* peer : engine()->peers) {
    std::vector<Request*> sends;
    for (Request* each = peer->queued.front(); each != nullptr; each = peer->queued.next(*each)) {
      if (each->context_ == context) sends.push_back(each);
    }
    for (Request* send : sends) {
      peer->queued.remove(*send);
      set_detail(text);
      fail_request(*send, why);
    }
  }
  end_receives();
  wake_waiting();
}

Status hopeless(const Envelope& wanted) {
  if (engine()->endings == 0) return kOk;
  HR_TRY(matcher(wanted.context).ended());
  if (wanted.source != abi::kAnySource) {
    const auto ask = engine()->context_members.process_of;
    const int proc = ask == nullptr ? wanted.source : ask(wanted.context, wanted.source);
    return proc >= 0 && is_lost(proc) ? lost_error(proc) : kOk;
  }
  // Anybody: this process itself does not count, as it waits.
  int lost = -1;
  for (int index = 0;; ++index) {
    const int proc = sender(wanted.context, index);
    if (proc < 0) break;
    if (proc == engine()->rank) continue;
    if (!is_lost(proc)) return kOk;
    lost = proc;
  }
  return lost >= 0 ? lost_error(lost) : kOk;
}

Status hopeless(std::uint32_t context) {
  if (engine()->endings == 0) return kOk;
  HR_TRY(matcher(context).ended());
  for (int index = 0;; ++index) {
    const int proc = sender(context, index);
    if (proc < 0) return kOk;
    if (is_lost(proc)) return lost_error(proc);
  }
}

}  // namespace hr::p2p

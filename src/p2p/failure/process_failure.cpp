#include "p2p/process_failure.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/process_name.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

std::string name(int proc) { return boot::process_name(boot::processes(), proc); }

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

Status failed_now(Status why) { return why == Errc::kProcFailedPending ? Status(Errc::kProcFailed) : why; }

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
              "%s, from which a message may have been expected, cannot be reached any more: %s", name(news).c_str(),
              peer_of(news).why_failed.c_str());
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
  if (Engine* state = engine()) state->context_members = members;  // none in tests that only use comm/
}

std::span<const int> failed_processes() noexcept {
  return engine() == nullptr ? std::span<const int>() : std::span<const int>(engine()->failed_processes);
}

bool has_failed(int proc) noexcept { return peer_of(proc).failed; }

Status failure_error(int proc) {
  return fail(Errc::kProcFailed, "%s cannot be reached any more: %s", name(proc).c_str(),
              peer_of(proc).why_failed.c_str());
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
  log::write(log::Level::kDecision, "%s has failed: %s", name(proc).c_str(), peer.why_failed.c_str());
  note_failure();
  mark_busy(peer);
  wake_waiting();
}

void end_context(std::uint32_t context, Status why) {
  std::string text = take_detail();
  matcher(context).end(why, text);
  note_failure();
  end_pending();
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

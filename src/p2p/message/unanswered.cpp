// Messages whose other process has left MPI: sends that it has been asked to cancel, and those that a caller looks at.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "boot/boot.hpp"
#include "boot/process_name.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/partitioned/partitioned_operation.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/arrivals.hpp"
#include "p2p/protocol/rendezvous.hpp"
#include "p2p/protocol/shared_copy.hpp"
#include "p2p/protocol/transport_data.hpp"

namespace hr::p2p {
namespace {

// More rounds than a ring has messages.
constexpr int kMostRounds = 1 << 16;

// A send that its receiver has been asked to drop. The send may have ended since, which waiting_send() detects.
struct Unanswered {
  int proc;
  std::uint64_t cookie;
};

struct State final : FileState {
  std::vector<Unanswered> sends;
};

bool has_left(const Unanswered& each) noexcept {
  const Peer& peer = peer_of(each.proc);
  return peer.connected && peer.transport->has_left(each.proc);
}

// Delivers the messages that have arrived through the transport. False if done() has never been true, and more messages
// may be there.
template <class Done>
bool deliver_all(transport::Transport& transport, Done&& done) {
  for (int rounds = 0; rounds < kMostRounds; ++rounds) {
    if (done() || !transport.progress()) return true;
  }
  return false;
}

// Hook, which exists while a send is listed.
bool end_unanswered(void* /*argument*/) {
  State& state = own<State>();
  const auto ended = [](const Unanswered& each) { return waiting_send(each.proc, each.cookie) == nullptr; };
  std::erase_if(state.sends, ended);
  std::vector<Unanswered> left;
  std::ranges::copy_if(state.sends, std::back_inserter(left), has_left);
  // Everything that these processes have sent can be received now, because they sent it before they left.
  for (const Unanswered& each : left) {
    static_cast<void>(deliver_all(*peer_of(each.proc).transport, [&] { return ended(each); }));
  }
  bool moved = false;
  for (const Unanswered& each : left) {
    Request* const send = waiting_send(each.proc, each.cookie);
    moved |= send != nullptr && end_unmatched(*send);
  }
  std::erase_if(state.sends, ended);
  if (state.sends.empty()) remove_hook(end_unanswered, nullptr);
  return moved;
}

// Lists the processes of which one must send or receive for the request to end; empty: they are not known.
std::vector<int> others_of(const Request& request) {
  if (!request.is_receive_) return {request.proc_};
  const ContextMembers& ask = engine()->context_members;
  if (request.source_ != abi::kAnySource) {
    return {ask.process_of != nullptr ? ask.process_of(request.context_, request.source_) : request.source_};
  }
  std::vector<int> all;
  if (ask.sender == nullptr) return all;
  for (int proc = 0; (proc = ask.sender(request.context_, static_cast<int>(all.size()))) >= 0;) all.push_back(proc);
  return all;
}

// Returns the transport of the messages from a process that has left MPI; null if it has not. This process has not.
transport::Transport* path_of_left(int proc) {
  if (proc < 0 || !shares_memory(proc)) return nullptr;
  transport::Transport* found = nullptr;
  for (transport::Transport* const each : engine()->transports) {
    if (!each->reaches(proc) || !each->caps(proc).same_node) continue;
    if (!each->has_left(proc)) return nullptr;  // it has left only a connection that has ended
    found = each;
  }
  return found;
}

// True if all of these processes have left MPI, and done() is false although everything that they have sent has been
// delivered.
template <class Done>
bool have_left(const std::vector<int>& others, Done&& done) {
  std::vector<transport::Transport*> paths;
  std::ranges::transform(others, std::back_inserter(paths), path_of_left);
  if (paths.empty() || std::ranges::find(paths, nullptr) != paths.end()) return false;
  return std::ranges::all_of(paths, [&](transport::Transport* each) { return deliver_all(*each, done); }) && !done();
}

Status left(const std::vector<int>& others, bool is_receive) {
  const std::string who = others.size() == 1 ? boot::process_name(boot::processes(), others[0]) + " has"
                                             : "all " + std::to_string(others.size()) + " processes that may send have";
  return fail(Errc::kOther, "no %s can match it, as %s left MPI (MPI_Finalize)", is_receive ? "message" : "receive",
              who.c_str());
}

// True if only a message of the other process can move the message on.
bool waits_for_other(const Request& request) noexcept {
  const auto phase = request.is_receive_ ? Request::Phase::kPosted : Request::Phase::kWaiting;
  return request.operation_ == nullptr && request.phase_ == phase && !request.complete();
}

bool end_partitioned(Partitioned& operation) {
  if (operation.matched()) {
    bool ended = false;
    for (const Part& each : operation.parts()) ended |= each.message != nullptr && end_if_others_left(*each.message);
    return ended;
  }
  const std::vector<int> other{operation.arguments().peer_proc};
  if (!have_left(other, [&operation] { return operation.matched(); })) return false;
  operation.give_up(left(other, operation.is_receive()));
  return true;
}

}  // namespace

bool end_if_others_left(Request& request) {
  if (auto* const partitioned = dynamic_cast<Partitioned*>(request.state_.get()); partitioned != nullptr)
    return end_partitioned(*partitioned);
  if (!waits_for_other(request) || shared_copy::holds(request)) return false;
  const std::vector<int> others = others_of(request);
  if (!have_left(others, [&request] { return !waits_for_other(request); })) return false;
  const Status why = left(others, request.is_receive_);
  if (request.is_receive_) {
    matcher(request.context_).withdraw(request);
    Completion completion;
    completion.error = why;
    complete(request, completion);
    return true;
  }
  request.completion_.error = why;
  request.detail_ = take_detail();
  return end_unmatched(request);
}

bool end_unmatched(Request& send) {
  if (shared_copy::holds(send)) return false;
  Completion completion;
  // The send was recalled (process_failure.hpp), or the program has cancelled it.
  completion.error = send.completion_.error;
  completion.cancelled = completion.error.ok();
  if (!completion.error.ok()) set_detail(send.detail_);
  transport_data::detach(send);
  finish_send(send, completion);
  return true;
}

void ask_to_cancel(Request& send) {
  const auto cookie = reinterpret_cast<std::uint64_t>(&send);
  send_control(send.proc_, wire::cancel(send.context_, cookie));
  // The paths between hosts stay open until all processes have called MPI_Finalize.
  if (const transport::Caps& caps = peer_of(send.proc_).caps; !caps.same_node || caps.same_address_space) return;
  own<State>().sends.push_back({send.proc_, cookie});
  add_hook(end_unanswered, nullptr);
}

}  // namespace hr::p2p

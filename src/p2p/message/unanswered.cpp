// Messages whose other process has left MPI: sends that it has been asked to cancel, those that a caller looks at, and
// those for which a thread waits.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/lock.hpp"
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
// Time between two looks of a thread that waits.
constexpr double kLookSeconds = 10e-3;

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
  bool moved = false;
  bool over = false;
  for (int rounds = 0; rounds < kMostRounds && !over; ++rounds) {
    over = done() || !transport.progress();
    moved |= !over;
  }
  if (moved) wake_waiting();  // the messages may be for threads that sleep
  return over;
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

// The processes of which one must send or receive for an operation to end, all of which have left MPI.
struct Left {
  std::vector<int> procs;
  std::vector<transport::Transport*> paths;  // their messages come through these

  // False if the process has not left, as this process has not.
  bool add(int proc) {
    if (proc < 0 || !shares_memory(proc)) return false;
    bool found = false;
    for (transport::Transport* const each : engine()->transports) {
      if (!each->reaches(proc) || !each->caps(proc).same_node) continue;
      if (!each->has_left(proc)) return false;  // it has left only a connection that has ended
      // Two jobs that are connected in several ways share several transports, and the process chose one of them.
      if (std::ranges::find(paths, each) == paths.end()) paths.push_back(each);
      found = true;
    }
    if (found) procs.push_back(proc);
    return found;
  }
};

// True if this process may send although one of its threads waits: another thread, an operation that still runs, or a
// message for which there was no space.
bool may_send_meanwhile() noexcept {
  return LibraryLock::enabled() || !progress.hooks.empty() || peer_of(engine()->rank).busy;
}

// Adds the processes that may send such a message; false if they are not known, or if one of them has not left. With
// `blocked`, this process is not among them unless it may send meanwhile.
bool add_senders(const Envelope& wanted, bool blocked, Left* left) {
  const ContextMembers& ask = engine()->context_members;
  if (wanted.source != abi::kAnySource)
    return left->add(ask.process_of != nullptr ? ask.process_of(wanted.context, wanted.source) : wanted.source);
  if (ask.sender == nullptr) return false;
  const bool alone = blocked && !may_send_meanwhile();
  for (int index = 0, proc = 0; (proc = ask.sender(wanted.context, index)) >= 0; ++index) {
    if (alone && proc == engine()->rank) continue;
    if (!left->add(proc)) return false;
  }
  return true;
}

// True if done() is false although everything that these processes have sent has been delivered.
template <class Done>
bool sent_in_vain(const Left& left, Done&& done) {
  if (left.procs.empty()) return false;
  return std::ranges::all_of(left.paths, [&](transport::Transport* each) { return deliver_all(*each, done); }) &&
         !done();
}

std::string name_of(int proc) { return boot::process_name(boot::processes(), proc); }

// Returns the error of an operation without a match. `operation`: "the send of rank 0", "it".
Status left_error(const Left& left, bool is_receive, const std::string& operation) {
  const std::string who = left.procs.size() == 1
                              ? name_of(left.procs[0]) + " has"
                              : "all " + std::to_string(left.procs.size()) + " processes that may send have";
  return fail(Errc::kOther, "no %s can match %s, as %s left MPI (MPI_Finalize)", is_receive ? "message" : "receive",
              operation.c_str(), who.c_str());
}

std::string operation_of(bool is_receive, bool blocked) {
  if (!blocked) return "it";
  return (is_receive ? "the receive of " : "the send of ") + name_of(engine()->rank);
}

// The engine's request for blocking receives is not marked as a receive.
bool is_receive(const Request& request) noexcept {
  return request.is_receive_ || &request == &engine()->blocking_receive;
}

// True if only a message of the other process can move the message on.
bool waits_for_other(const Request& request) noexcept {
  const auto phase = is_receive(request) ? Request::Phase::kPosted : Request::Phase::kWaiting;
  return request.operation_ == nullptr && request.phase_ == phase && !request.complete();
}

// True if the send is listed: the hook ends it, as cancelled or with the error for which it was recalled.
bool is_called_back(const Request& request) {
  const auto cookie = reinterpret_cast<std::uint64_t>(&request);
  return std::ranges::any_of(
      own<State>().sends, [&](const Unanswered& each) { return each.proc == request.proc_ && each.cookie == cookie; });
}

bool end_partitioned(Partitioned& operation, bool blocked) {
  if (operation.matched()) {
    bool ended = false;
    for (const Part& each : operation.parts())
      ended |= each.message != nullptr && end_if_others_left(*each.message, blocked);
    return ended;
  }
  Left left;
  if (!left.add(operation.arguments().peer_proc)) return false;
  if (!sent_in_vain(left, [&operation] { return operation.matched(); })) return false;
  operation.give_up(left_error(left, operation.is_receive(), operation_of(operation.is_receive(), blocked)));
  return true;
}

}  // namespace

bool end_if_others_left(Request& request, bool blocked) {
  if (request.complete()) return false;
  if (request.state_ != nullptr && request.state_->end_if_left(blocked)) return true;
  if (auto* const partitioned = dynamic_cast<Partitioned*>(request.state_.get()); partitioned != nullptr)
    return end_partitioned(*partitioned, blocked);
  if (!waits_for_other(request) || shared_copy::holds(request)) return false;
  if (!is_receive(request) && is_called_back(request)) return false;
  Left left;
  const bool all = is_receive(request) ? add_senders({request.context_, request.source_, request.tag_}, blocked, &left)
                                       : left.add(request.proc_);
  if (!all || !sent_in_vain(left, [&request] { return !waits_for_other(request); })) return false;
  const Status why = left_error(left, is_receive(request), operation_of(is_receive(request), blocked));
  if (is_receive(request)) {
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

Status can_be_sent(const Envelope& wanted) {
  Left left;
  if (!add_senders(wanted, true, &left)) return kOk;
  if (!sent_in_vain(left, [&wanted] { return matcher(wanted.context).find(wanted) != nullptr; })) return kOk;
  return left_error(left, true, "the probe of " + name_of(engine()->rank));
}

bool should_look_for_left() noexcept {
  static thread_local double next = 0;
  const double now = now_seconds();
  if (now < next) return false;
  next = now + kLookSeconds;
  return true;
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

// Reports, at the destination, messages that were sent and never received (MPI 5.0 section 11.2.2), and receives that
// were freed and never got a message. Runs near the end of MPI_Finalize, when all processes have synchronised. Each
// process first notifies every other process that it has sent its last message.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/abi.hpp"
#include "base/clock.hpp"
#include "boot/boot.hpp"
#include "check/diagnostic.hpp"
#include "check/match.hpp"
#include "check/messages.hpp"
#include "check/objects.hpp"
#include "check/operations.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "comm/failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/request.hpp"

namespace hr::check {
namespace {

// Maximum number of processes with which the check waits for messages that are still in flight.
constexpr int kMostProcesses = 64;
// Time limit of the wait for processes that may never reach MPI_Finalize.
constexpr double kMostSeconds = 10;

struct Lost final : FileState {
  std::set<int> ended;  // processes that have sent their last message
  // Receives whose requests were freed while they were active, by request. The table holds no reference, which would
  // keep the handle valid.
  std::map<const void*, std::string> freed;
};

void take_final(const Told& told) { own<Lost>().ended.insert(told.from); }

std::string describe(const Operation& receive, const comm::Communicator& comm) {
  const std::string source = receive.peer == abi::kAnySource ? "any source" : "rank " + std::to_string(receive.peer);
  const std::string tag = receive.tag == abi::kAnyTag ? "any tag" : "tag " + std::to_string(receive.tag);
  return "from " + source + " with " + tag + " of " + name_of(comm) + " (" + text(receive.call_site) + ")";
}

// Notes a receive whose request the call is about to free, to see whether a message still arrives.
Status before(Call& call) {
  if (!call.is("MPI_Request_free") || call.before.empty()) return kOk;
  const auto found = operations().find(call.before.front());
  if (found == operations().end() || !found->second.active || found->second.kind != Operation::Kind::kReceive)
    return kOk;
  const comm::Communicator* const comm = comm::communicator_of(found->second.context);
  const auto* const request = static_cast<const p2p::Request*>(call.before.front());
  if (comm == nullptr || comm->has_others_ || request->complete()) return kOk;
  own<Lost>().freed[request] = describe(found->second, *comm);
  return kOk;
}

Status after(Call& call, int code) {
  if (code != 0 && call.is("MPI_Request_free") && !call.before.empty()) own<Lost>().freed.erase(call.before.front());
  return kOk;
}

// True if a freed receive still waits: its request exists until the receive is complete, and no newer operation uses
// the request.
bool still_waits(const void* request) {
  return Arena<p2p::Request>::instance().owns(request) && !operations().contains(request) &&
         static_cast<const p2p::Request*>(request)->phase_ == p2p::Request::Phase::kPosted;
}

// Called when no message can arrive any more.
void tell_freed() {
  std::map<std::string, int> receives;
  for (const auto& [request, receive] : own<Lost>().freed) {
    if (still_waits(request)) ++receives[receive];
  }
  for (const auto& [receive, count] : receives) {
    report("message: %d freed receive%s %s got no message; send it, or cancel the receive before you free it", count,
           count == 1 ? "" : "s", receive.c_str());
  }
}

// Waits until no message of the program is in flight. Returns false if the wait ended without that certainty.
bool meet_all(int size) {
  const int self = boot::processes().self();
  for (int proc = 0; proc < size; ++proc) {
    if (proc != self) tell(proc, Word::kFinal, 0, {});
  }
  const auto all_ended = [size] { return own<Lost>().ended.size() + 1 == static_cast<std::size_t>(size); };
  const double end = now_seconds() + kMostSeconds;
  static_cast<void>(p2p::wait_until([&] { return all_ended() || p2p::any_failures() || now_seconds() > end; }));
  return all_ended();
}

void report_lost() {
  const Call* const call = current_call();
  if (call == nullptr || !call->is("MPI_Finalize") || p2p::any_failures()) return;  // a failed process receives nothing
  const int size = boot::identity().size;
  const bool all_arrived = size == 1 || (size <= kMostProcesses && meet_all(size));
  if (p2p::any_failures()) return;
  for (const std::string& text : messages_without_receive())
    report("message: %s never received; receive it, or do not send it", text.c_str());
  if (all_arrived) tell_freed();
}

void at_finalize() {
  report_lost();
  own<Lost>().freed.clear();
}

void start() { on_word(Word::kFinal, take_final); }

}  // namespace

extern const Diagnostic kLost;
const Diagnostic kLost{"message", start, nullptr, before, after, at_finalize};

}  // namespace hr::check

// Reports messages that were sent and never received (MPI 5.0 section 11.2.2), at their destination, and receives that
// were freed and never got a message, at the end. By then, all processes have synchronised in MPI_Finalize; each
// notifies every other one that it has sent its last message.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
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

// Above this number of processes, the check does not wait for messages that are still in flight.
constexpr int kMostProcesses = 64;
// Limit of the wait for processes that may never reach MPI_Finalize.
constexpr double kMostSeconds = 10;

// A receive whose request was freed while it was active.
struct Freed {
  Ref<p2p::Request> request;
  std::string text;
};

struct Lost final : FileState {
  std::set<int> ended;  // processes that have sent their last message
  std::vector<Freed> freed;
};

void take_final(const Told& told) { own<Lost>().ended.insert(told.from); }

std::string describe(const Operation& receive, const comm::Communicator& comm) {
  const std::string source = receive.peer == abi::kAnySource ? "any source" : "rank " + std::to_string(receive.peer);
  const std::string tag = receive.tag == abi::kAnyTag ? "any tag" : "tag " + std::to_string(receive.tag);
  return "from " + source + " with " + tag + " of " + name_of(comm) + " (" + text(receive.call_site) + ")";
}

// Keeps the request of a receive that the call is about to free, to see whether a message still arrives.
Status before(Call& call) {
  if (!call.is("MPI_Request_free") || call.before.empty()) return kOk;
  const auto found = operations().find(call.before.front());
  if (found == operations().end() || !found->second.active || found->second.kind != Operation::Kind::kReceive)
    return kOk;
  const comm::Communicator* const comm = comm::communicator_of(found->second.context);
  auto* const request = static_cast<p2p::Request*>(call.before.front());
  if (comm == nullptr || comm->has_others_ || request->complete()) return kOk;
  auto& freed = own<Lost>().freed;
  std::erase_if(freed, [](const Freed& each) { return each.request->complete(); });
  freed.push_back({Ref<p2p::Request>::share(request), describe(found->second, *comm)});
  return kOk;
}

Status after(Call& call, int code) {
  if (code != 0 && call.is("MPI_Request_free") && !call.before.empty())
    std::erase_if(own<Lost>().freed, [&](const Freed& each) { return each.request.get() == call.before.front(); });
  return kOk;
}

// Called when no message can arrive any more.
void tell_freed() {
  std::map<std::string, int> receives;
  for (const Freed& each : own<Lost>().freed) {
    if (each.request->phase_ == p2p::Request::Phase::kPosted) ++receives[each.text];
  }
  for (const auto& [receive, count] : receives) {
    report("message: %d freed receive%s %s got no message; send it, or cancel the receive before you free it", count,
           count == 1 ? "" : "s", receive.c_str());
  }
}

// Returns true once no message of the program is in flight; false if that is not known.
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

#include "check/waits.hpp"

#include <algorithm>
#include <utility>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "check/collectives.hpp"
#include "check/enqueued.hpp"
#include "check/match.hpp"
#include "check/objects.hpp"
#include "comm/failure.hpp"
#include "enqueue/enqueue.hpp"
#include "p2p/p2p.hpp"
#include "p2p/request.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

std::vector<int> members(const comm::Communicator& comm) {
  std::vector<int> processes;
  const int self = boot::processes().self();
  const auto add = [&](const comm::Group& group) {
    for (const int each : group.procs()) {
      if (each != self) processes.push_back(each);
    }
  };
  add(*comm.local_);
  if (comm.is_inter()) add(*comm.remote_);
  return processes;
}

std::string with_tag(long long tag) {
  return tag == abi::kAnyTag ? " with any tag" : " with tag " + std::to_string(tag);
}

Wait at_call_site(const Call& call, std::string whom) {
  Wait wait;
  const std::string call_site = text(call.call_site());
  const std::size_t name = call_site.find(" at ");
  wait.text = "waits in " + call_site.substr(0, name) + std::move(whom) + call_site.substr(name);
  return wait;
}

Wait from(const Call& call, const comm::Communicator& comm, long long source, long long tag) {
  if (source == abi::kAnySource) {
    Wait wait = at_call_site(call, " from any source" + with_tag(tag));
    wait.any = true;
    wait.processes = members(comm);
    return wait;
  }
  Wait wait = at_call_site(call, " from rank " + std::to_string(source) + with_tag(tag) + " of " + name_of(comm));
  wait.processes = {comm.peer_proc(static_cast<int>(source))};
  return wait;
}

Wait towards(const Call& call, const comm::Communicator& comm, long long dest, long long tag) {
  Wait wait = at_call_site(call, " to rank " + std::to_string(dest) + with_tag(tag) + " of " + name_of(comm));
  wait.processes = {comm.peer_proc(static_cast<int>(dest))};
  return wait;
}

std::optional<Wait> in_message(const Call& call) {
  const auto* const comm = call.object<comm::Communicator>("comm");
  if (comm == nullptr) return std::nullopt;
  const char* const receive_tag = call.find("recvtag") != nullptr ? "recvtag" : "tag";
  if (call.find("source") != nullptr) {
    const long long source = call.number("source");
    if (!call.matched && source != abi::kProcNull) return from(call, *comm, source, call.number(receive_tag));
    if (call.find("dest") == nullptr) return std::nullopt;
  }
  const long long dest = call.number("dest");
  const char* const send_tag = call.find("sendtag") != nullptr ? "sendtag" : "tag";
  if (dest == abi::kProcNull) return std::nullopt;
  return towards(call, *comm, dest, call.number(send_tag));
}

// Wait of a single request.
struct OneWait {
  std::vector<int> processes;
  bool any = false;
  std::string text;
};

std::optional<OneWait> wait_of(const Operation& operation, const p2p::Request& request) {
  const comm::Communicator* const comm = comm::communicator_of(operation.context);
  if (request.complete() || comm == nullptr) return std::nullopt;
  OneWait wait;
  using Phase = p2p::Request::Phase;
  switch (operation.kind) {
    case Operation::Kind::kReceive:
      if (request.phase_ != Phase::kPosted) return std::nullopt;
      wait.any = operation.peer == abi::kAnySource;
      wait.processes = wait.any ? members(*comm) : std::vector<int>{comm->peer_proc(operation.peer)};
      wait.text = (wait.any ? "a message from any source" : "a message from rank " + std::to_string(operation.peer)) +
                  with_tag(operation.tag);
      break;
    case Operation::Kind::kSend:
      if (request.phase_ == Phase::kMoving) return std::nullopt;
      wait.processes = {comm->peer_proc(operation.peer)};
      wait.text = "a message to rank " + std::to_string(operation.peer) + with_tag(operation.tag);
      break;
    case Operation::Kind::kCollective:
      wait.any = true;
      wait.processes = members(*comm);
      wait.text = "all members";
      break;
    case Operation::Kind::kOther:
      return std::nullopt;
  }
  wait.text += " (" + text(operation.call_site) + ")";
  return wait;
}

std::optional<OneWait> in_request(const void* handle) {
  const auto found = operations().find(handle);
  if (found == operations().end() || !found->second.active) return std::nullopt;
  const auto* const request = static_cast<const p2p::Request*>(handle);
  const Enqueued* const enqueued = enqueued_for(handle);
  if (enqueued == nullptr) return wait_of(found->second, *request);
  // Until its stream has come to an operation, the operation waits for that stream.
  return enqueued->inner == nullptr ? std::nullopt : wait_of(found->second, *enqueued->inner);
}

// Adds what all operations must have for the call to end.
void add_to(Wait& wait, const OneWait& one, const char* between) {
  wait.text += between + one.text;
  wait.processes.insert(wait.processes.end(), one.processes.begin(), one.processes.end());
}

// Handles MPI_Comm_free and MPI_Finalize, which wait for what streams have begun.
std::optional<Wait> in_streams(const Call& call) {
  const auto* const comm = call.object<comm::Communicator>("comm");
  Wait wait = at_call_site(call, " for enqueued operations");
  for (const Enqueued* const each : enqueued_in_progress(comm == nullptr ? 0 : comm->context())) {
    const auto one = wait_of(each->operation, *each->inner);
    if (one && !one->any) add_to(wait, *one, wait.processes.empty() ? ": " : ", ");
  }
  return wait.processes.empty() ? std::nullopt : std::optional(wait);
}

// Handles MPIX_Matchall, which waits until the other processes call it, too.
std::optional<Wait> in_match(const Call& call) {
  Wait wait = at_call_site(call, " for the other processes of its requests");
  for (const void* const handle : call.before) {
    const auto found = operations().find(handle);
    if (found == operations().end() || found->second.active || is_matched(handle)) continue;
    const Operation& operation = found->second;
    const comm::Communicator* const comm = comm::communicator_of(operation.context);
    const bool message = operation.kind == Operation::Kind::kSend || operation.kind == Operation::Kind::kReceive;
    if (comm == nullptr || !message || operation.peer < 0) continue;
    const int proc = comm->peer_proc(operation.peer);
    if (proc == boot::processes().self() || !p2p::shares_memory(proc)) continue;
    const std::string call_site = " (" + text(operation.call_site) + ")";
    add_to(wait, {{proc}, false, "rank " + std::to_string(operation.peer) + with_tag(operation.tag) + call_site},
           wait.processes.empty() ? ": " : ", ");
  }
  return wait.processes.empty() ? std::nullopt : std::optional(wait);
}

// Handles MPI_Wait and its variants. If all requests must complete, a receive from any source or a collective counts
// only if nothing else is waited for.
std::optional<Wait> in_requests(const Call& call) {
  const bool one_is_enough = call.is("MPI_Waitany") || call.is("MPI_Waitsome");
  std::vector<OneWait> all, of_one;
  for (const void* const handle : call.before) {
    auto each = in_request(handle);
    if (!each) {
      // The request is complete, its data is moving, or the process that it waits for is not known.
      if (one_is_enough && handle != nullptr && reinterpret_cast<std::uintptr_t>(handle) >= 0x1000) return std::nullopt;
      continue;
    }
    (each->any ? all : of_one).push_back(std::move(*each));
  }
  const bool alternatives = one_is_enough || of_one.empty();
  const std::vector<OneWait>& chosen = of_one.empty() ? all : of_one;
  if (chosen.empty() || (!one_is_enough && of_one.empty() && all.size() > 1)) return std::nullopt;
  Wait wait = at_call_site(call, " for " + chosen.front().text +
                                     (chosen.size() > 1 ? " and " + std::to_string(chosen.size() - 1) + " more" : ""));
  wait.any = alternatives;
  for (const auto* each : {&of_one, &all}) {
    if (each != &chosen && !one_is_enough) continue;
    for (const OneWait& one : *each)
      wait.processes.insert(wait.processes.end(), one.processes.begin(), one.processes.end());
  }
  return wait;
}

std::optional<Wait> in_collective(const Call& call, const CollectiveWait& collective) {
  const comm::Communicator* const comm = comm::communicator_of(collective.context);
  if (comm == nullptr) return std::nullopt;
  Wait wait = at_call_site(call, " for all members of " + name_of(*comm));
  wait.context = collective.context;
  wait.sequence = collective.sequence + 1;
  wait.processes = members(*comm);
  return wait;
}

}  // namespace

std::optional<Wait> wait_of(const Call& call) {
  if (const CollectiveWait* collective = collective_wait()) return in_collective(call, *collective);
  if (streams_go_on()) return std::nullopt;
  const std::string_view name = call.function();
  if (name == "MPI_Recv" || name == "MPI_Probe" || name == "MPI_Mprobe" || name == "MPI_Send" || name == "MPI_Ssend" ||
      name == "MPI_Rsend" || name == "MPI_Sendrecv" || name == "MPI_Sendrecv_replace")
    return in_message(call);
  if (name.starts_with("MPI_Wait")) return in_requests(call);
  if (name == "MPIX_Matchall") return in_match(call);
  if (name == "MPI_Comm_free" || name == "MPI_Finalize") {
    if (auto wait = in_streams(call)) return wait;
  }
  const comm::Communicator* comm = call.object<comm::Communicator>("comm");
  // It waits for its own stream.
  if (name == "MPI_Comm_free" && comm != nullptr && enqueue::stream_of(*comm) != nullptr) return std::nullopt;
  if (const auto* window = call.object<rma::Window>("win"); window != nullptr) comm = window->comm_.get();
  if (comm == nullptr || comm->size() == 1) return std::nullopt;
  Wait wait = at_call_site(call, " for other members of " + name_of(*comm));
  wait.any = true;
  wait.processes = members(*comm);
  return wait;
}

}  // namespace hr::check

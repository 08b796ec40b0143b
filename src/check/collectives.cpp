#include "check/collectives.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "boot/boot.hpp"
#include "check/buffers.hpp"
#include "check/clock.hpp"
#include "check/comparison.hpp"
#include "check/describe_collective.hpp"
#include "check/diagnostic.hpp"
#include "check/enqueued.hpp"
#include "check/messages.hpp"
#include "check/races.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "coll/coll.hpp"
#include "comm/failure.hpp"
#include "io/file.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

// Maximum wait for the comparing member, which may be busy.
constexpr double kExplainSeconds = 2;
// Offset of the context under which the operations that streams start are numbered.
constexpr std::uint32_t kEnqueuedUse = comm::kContextSpacing - 1;

using Key = std::pair<std::uint32_t, std::uint64_t>;  // context, sequence

struct Outcome {
  int code;
  std::string text;
  std::vector<std::byte> clock;  // merged from all members
};

struct Collectives final : FileState {
  std::unordered_map<std::uint32_t, std::uint64_t> sequences;  // by context
  std::map<Key, Comparison> comparisons;  // comparisons for which this process is the comparing member
  std::map<Key, Outcome> outcomes;        // received, by key
  std::optional<CollectiveWait> wait;
};

// The program's call whose collective operation coll/ is about to describe.
thread_local Call* current = nullptr;
thread_local std::uint64_t begun = 0;

// Precedes the text in a message.
struct OutcomeHead {
  std::uint64_t sequence;
  std::int64_t code;
};

// Replies to a member. A member that does not wait is notified only of mistakes, which may make its operation fail.
void answer(std::uint32_t context, Member& member, Status status, const std::string& why,
            const std::vector<std::byte>& clock) {
  if ((member.record.waits == 0 && status.ok()) || member.told) return;
  member.told = true;
  const OutcomeHead head{member.record.sequence, status.code()};
  std::vector<std::byte> message(sizeof head);
  std::memcpy(message.data(), &head, sizeof head);
  const auto more = std::as_bytes(std::span(why)).first(std::min(why.size(), longest(member.proc) - sizeof head));
  message.insert(message.end(), more.begin(), more.end());
  if (status.ok()) message.insert(message.end(), clock.begin(), clock.end());
  tell(member.proc, Word::kOutcome, context, message);
}

void take_outcome(const Told& told) {
  OutcomeHead head{};
  if (told.data.size() < sizeof head) return;
  std::memcpy(&head, told.data.data(), sizeof head);
  const auto rest = told.data.subspan(sizeof head);
  Outcome outcome{static_cast<int>(head.code), {}, {}};
  if (head.code == 0) {
    outcome.clock.assign(rest.begin(), rest.end());
  } else {
    outcome.text.assign(reinterpret_cast<const char*>(rest.data()), rest.size());
  }
  own<Collectives>().outcomes[{static_cast<std::uint32_t>(told.subject), head.sequence}] = std::move(outcome);
}

void take_record(const Told& told) {
  Member member{told.from, {}, {}, {}};
  Record& record = member.record;
  if (told.data.size() < sizeof record) return;
  std::memcpy(&record, told.data.data(), sizeof record);
  const std::byte* at = told.data.data() + sizeof record;
  const auto read = [&](std::vector<Signature>& into, std::uint32_t count) {
    into.resize(count);
    if (count != 0) std::memcpy(into.data(), at, count * sizeof(Signature));
    at += count * sizeof(Signature);
  };
  if (told.data.size() < sizeof record + (std::size_t{record.sends} + record.expects) * sizeof(Signature)) return;
  read(member.sends, record.sends);
  read(member.expects, record.expects);
  const std::span<const std::byte> clock(at, told.data.data() + told.data.size());

  const auto context = static_cast<std::uint32_t>(told.subject);
  auto& comparisons = own<Collectives>().comparisons;
  const Key key{context, record.sequence};
  Comparison& comparison = comparisons[key];
  const bool waits = record.waits != 0;
  const bool known = !comparison.text().empty();
  join(comparison.clock, clock);
  const Status status = comparison.add(std::move(member));
  static_cast<void>(take_detail());
  if (!status.ok() && !known && !waits) report("%s", comparison.text().c_str());
  if (!status.ok() || comparison.complete()) {
    for (Member& each : comparison.members()) answer(context, each, status, comparison.text(), comparison.clock);
  }
  if (comparison.complete()) comparisons.erase(key);
}

// Returns the comparing member; -1 if the communicator has processes of other jobs, because the checker may be off
// there.
int comparing(const comm::Communicator& comm) {
  if (comm.has_others_) return -1;
  const int own_side = comm.local_->proc(0);
  return comm.is_inter() ? std::min(own_side, comm.remote_->proc(0)) : own_side;
}

bool any_failed(const comm::Communicator& comm) {
  if (!p2p::any_failures()) return false;
  if (comm::is_revoked(comm)) return true;
  return std::ranges::any_of(p2p::failed_processes(), [&](int proc) { return comm::is_member(comm, proc); });
}

// Records that all members have reached this call.
void note_met(const comm::Communicator& comm, const std::vector<std::byte>& clock) {
  if (!follows_order()) return;
  learn(clock);
  const bool all = !comm.is_inter() && comm.size() == boot::identity().size;
  if (all) begin_phase();
  if (all || window_of(comm.context()) != nullptr) expect_findings(all ? 0 : comm.context());
}

Status wait_for_outcome(const comm::Communicator& comm, const Key& key) {
  auto& outcomes = own<Collectives>().outcomes;
  own<Collectives>().wait = CollectiveWait{key.first, key.second};
  const Status waited = p2p::wait_until([&] { return outcomes.contains(key) || any_failed(comm); });
  own<Collectives>().wait.reset();
  HR_TRY(waited);
  const auto found = outcomes.find(key);
  if (found == outcomes.end()) return kOk;  // the call itself reports the failed process
  const Outcome outcome = std::move(found->second);
  outcomes.erase(found);
  if (outcome.code == 0) {
    note_met(comm, outcome.clock);
    return kOk;
  }
  set_detail(outcome.text);
  return Status::from_code(outcome.code);
}

// *sent: receives the key of the record; null: not needed. `use`: distinguishes calls of the same communicator that are
// numbered apart.
Status agree(const CallSite& call_site, const comm::Communicator& comm, Described described, bool waits,
             std::uint32_t use = 0, Key* sent = nullptr) {
  const int proc = comparing(comm);
  const int members = comm.size() + (comm.is_inter() ? comm.remote_->size() : 0);
  if (proc < 0 || comm.context() == 0 || any_failed(comm)) {
    lose_order();
    return kOk;
  }
  if (waits) tell_accesses();
  Record& record = described.record;
  const std::uint32_t context = comm.context() + use;
  const Key key{context, own<Collectives>().sequences[context]++};
  if (sent != nullptr) *sent = key;
  record.sequence = key.second;
  record.rank = comm.rank();
  record.size = members;
  record.waits = waits ? 1 : 0;
  record.call_site = remote(call_site);
  const std::size_t room = longest(proc);
  const std::size_t parts = (described.sends.size() + described.expects.size()) * sizeof(Signature);
  if (sizeof record + parts + clock_bytes() > room) {
    described.sends.clear();
    described.expects.clear();
  }
  record.sends = static_cast<std::uint32_t>(described.sends.size());
  record.expects = static_cast<std::uint32_t>(described.expects.size());
  std::vector<std::byte> message(sizeof record);
  std::memcpy(message.data(), &record, sizeof record);
  for (const auto* each : {&described.sends, &described.expects}) {
    const auto more = std::as_bytes(std::span(*each));
    message.insert(message.end(), more.begin(), more.end());
  }
  release(message);
  tell(proc, Word::kCollective, context, message);
  return waits ? wait_for_outcome(comm, key) : kOk;
}

Status check_operation_of(Call& call, const coll::Call& operation) {
  HR_TRY(check_buffers(call, operation));
  const Status status = agree(call.call_site(), *operation.comm, describe_operation(operation), operation.blocking);
  if (!operation.blocking) begun = own<Collectives>().sequences[operation.comm->context()];
  return status;
}

// Checks a collective operation that coll/ has described.
Status check_operation(const coll::Call& operation) {
  if (Enqueued* const enqueued = starting_enqueued(); enqueued != nullptr) {
    // Calls of the host on the communicator may come before or after, so they are numbered apart.
    Key key{};
    HR_TRY(agree(enqueued->operation.call_site, *operation.comm, describe_operation(operation), false, kEnqueuedUse,
                 &key));
    if (key.first != 0) enqueued->call = key;
    return kOk;
  }
  Call* const call = std::exchange(current, nullptr);
  if (call == nullptr) return kOk;
  const Status status = check_operation_of(*call, operation);
  if (!status.ok()) keep_detail(call->function());
  return status;
}

// Returns the communicator on which a function is collective.
comm::Communicator* communicator_of(const Call& call, const CollectiveFunction& function) {
  if (function.kind == ObjectKind::kWindow) {
    const auto* const window = call.object<rma::Window>(function.argument);
    return window == nullptr ? nullptr : window->comm_.get();
  }
  if (function.kind == ObjectKind::kFile) {
    const auto* const file = call.object<io::File>(function.argument);
    return file == nullptr ? nullptr : file->comm_.get();
  }
  return call.object<comm::Communicator>(function.argument);
}

Status before(Call& call) {
  current = is_collective_operation(call) ? &call : nullptr;
  begun = 0;
  const CollectiveFunction* const function = find_collective(call);
  if (function == nullptr) return kOk;
  comm::Communicator* const comm = communicator_of(call, *function);
  if (comm == nullptr || comm::is_revoked(*comm)) return kOk;
  if (function->ends) call.ended_context = comm->context();
  return function->compares ? agree(call.call_site(), *comm, describe_function(call, *function), function->waits) : kOk;
}

Status after(Call& call, int code) {
  current = nullptr;
  if (call.ended_context != 0 && code == 0) {
    own<Collectives>().sequences.erase(call.ended_context);
    own<Collectives>().sequences.erase(call.ended_context + kEnqueuedUse);
  }
  return kOk;
}

// Checks MPI_Finalize, which is also collective.
void at_finalize() {
  const Call* const call = current_call();
  const comm::Communicator* const world = comm::world();
  if (call == nullptr || world == nullptr || !call->is("MPI_Finalize") || comm::is_revoked(*world)) return;
  if (agree(call->call_site(), *world, {}, true).ok()) return;
  report("MPI_Finalize: %s", take_detail().c_str());
}

void start() {
  on_word(Word::kCollective, take_record);
  on_word(Word::kOutcome, take_outcome);
  coll::call_checker = check_operation;
}

void stop() { coll::call_checker = nullptr; }

}  // namespace

std::uint64_t begun_collective() noexcept { return begun; }

Status outcome_of(std::uint32_t context, std::uint64_t sequence) {
  auto& outcomes = own<Collectives>().outcomes;
  const auto found = outcomes.find({context, sequence});
  if (found == outcomes.end() || found->second.code == 0) return kOk;
  set_detail(found->second.text);
  const Status status = Status::from_code(found->second.code);
  outcomes.erase(found);
  return status;
}

Status explain_collective(Status status) {
  const bool of_data = status == Errc::kTruncate || status == Errc::kInStatus;
  const Call* const call = current_call();
  if (!of_data || call == nullptr) return status;
  std::vector<Key> keys;
  for (const void* const handle : call->before) {
    const auto found = operations().find(handle);
    if (found != operations().end() && found->second.collective != 0)
      keys.emplace_back(found->second.context, found->second.collective - 1);
  }
  if (keys.empty()) return status;
  const std::string detail = take_detail();
  auto& outcomes = own<Collectives>().outcomes;
  const auto known = [&] { return std::ranges::any_of(keys, [&](const Key& key) { return outcomes.contains(key); }); };
  const double end = now_seconds() + kExplainSeconds;
  static_cast<void>(p2p::wait_until([&] { return known() || now_seconds() > end; }));
  for (const Key& key : keys) {
    const auto found = outcomes.find(key);
    if (found == outcomes.end() || found->second.code == 0) continue;
    if (status == Errc::kInStatus) {  // the code must stay: it refers the program to the statuses
      report("%s", found->second.text.c_str());
      continue;
    }
    set_detail(found->second.text);
    return Status::from_code(found->second.code);
  }
  set_detail(detail);
  return status;
}

const CollectiveWait* collective_wait() {
  const auto& wait = own<Collectives>().wait;
  return wait ? &*wait : nullptr;
}

extern const Diagnostic kCollectives;
const Diagnostic kCollectives{"collective", start, stop, before, after, at_finalize};

}  // namespace hr::check

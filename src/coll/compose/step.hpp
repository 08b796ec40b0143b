// Steps of a composition: operations over some of the members, with the algorithms that selection names for them.
//
//   Levels levels(call);                              // first: where this process speaks, and with whom
//   Step here(call, levels.here(), Operation::kReduce);
//   Step across(call, levels.across(), Operation::kAllreduce);
//   ...                                               // root, buffers of here.call and across.call
//   Task steps = run_in_order({&here, &across});
//   co_return co_await steps;                         // the first error
//
// A step is enqueued in the sequence of its members when it is constructed. All steps of a composition must be
// constructed before its first wait. All steps must be run even if data did not fit or a process has failed, because
// other members wait for them. After other errors, the remaining steps are skipped, because other members may still
// wait for the failed step. Owner: locals of the coroutine. Threads: library lock.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "coll/compose/hosts.hpp"
#include "coll/execute.hpp"
#include "coll/messages.hpp"
#include "coll/outcome.hpp"
#include "coll/shared/wait.hpp"

namespace hr::coll {

// Tag for Levels: the last process of each host is its speaker.
struct LastOfHost {};

// The two levels of an operation. `root`: the operation's root; negative if it has none.
class Levels {
 public:
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;
  explicit Levels(const Call& call, int root = -1)
      : hosts_(*call.members->hosts()), root_host_(root < 0 ? 0 : hosts_.of(root)), speaker_(hosts_.speaker(root)) {
    if (!speaks()) return;
    if (root < 0 || hosts_.is_first(root)) {
      across_ = hosts_.firsts();  // kept for later operations, with its plans
    } else {
      with_root_.emplace(*call.comm, hosts_.speakers(root), call.members->sequence());
      across_ = &*with_root_;
    }
  }
  Levels(const Call& call, LastOfHost)
      : hosts_(*call.members->hosts()), root_host_(0), speaker_(hosts_.here().size() - 1) {
    if (speaks()) across_ = &hosts_.lasts();
  }
  [[nodiscard]] const Hosts& hosts() const noexcept { return hosts_; }
  // Return the members of this host, and the index of their speaker.
  [[nodiscard]] const Members& here() const noexcept { return hosts_.here(); }
  [[nodiscard]] int speaker() const noexcept { return speaker_; }
  [[nodiscard]] bool speaks() const noexcept { return here().own() == speaker_; }
  // Return the speakers, if this process is one of them (otherwise null), and the root's index among them.
  [[nodiscard]] const Members* across() const noexcept { return across_; }
  [[nodiscard]] int root_host() const noexcept { return root_host_; }

 private:
  const Hosts& hosts_;
  int root_host_;
  int speaker_;
  const Members* across_ = nullptr;
  std::optional<Members> with_root_;
};

class Step {
 public:
  // `members`: null if this process does not take part.
  Step(const Call& whole, const Members* members, Operation operation) : members_(members) {
    call.operation = operation;
    call.comm = whole.comm;
    call.members = members;
    call.op = whole.op;
    call.tag = whole.tag;
    call.bytes = whole.bytes;
    call.persistent = whole.persistent;
    call.blocking = whole.blocking;
    if (members_ != nullptr) enqueue(call);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  [[nodiscard]] Task run() { return members_ != nullptr ? execute_enqueued(call) : Task(); }
  // Ends the step's turn without running it, so that later operations of its members do not wait for it.
  void skip() noexcept {
    if (members_ != nullptr && call.segment != nullptr) call.segment->end_turn(call.sequence_number);
  }

  Call call;

 private:
  const Members* members_;
};

// Outcome of all steps: the first error.
class StepsOutcome : public Outcome {
 public:
  // Adds the status of a step. Returns false if this process may not have sent what other members wait for in that
  // step, for example for lack of memory: later steps would then wait for these members.
  [[nodiscard]] bool add_step(Status status) {
    add(status);
    switch (status.errc()) {
      case Errc::kSuccess:
      case Errc::kTruncate:
      case Errc::kCount:
      case Errc::kType:
      case Errc::kProcFailed:
      case Errc::kProcFailedPending:
      case Errc::kRevoked:
        return true;
      default:
        return false;
    }
  }
  // Skips the steps that are left, and returns the first error.
  [[nodiscard]] Status without(std::initializer_list<Step*> left) {
    for (Step* const step : left) step->skip();
    return result();
  }
};

// For a composition that itself packs or reduces device data. Waits for the next round of progress if the operation is
// non-blocking and has device data, so that the call that starts the operation enqueues the steps but does none of this
// work.
[[nodiscard]] inline Task defer_device_data(const Call& call) {
  shared::NextRound next;
  const p2p::When later = shared::when(next);
  if (!call.blocking && mem::maybe_device() &&
      (data_kind_of(call, call.send) == DataKind::kDeviceData ||
       data_kind_of(call, call.recv) == DataKind::kDeviceData)) {
    const Status waited = co_await later;
    co_return waited;
  }
  co_return kOk;
}

// Runs all steps in order, as far as errors permit; returns the first error. The steps must outlive the task; a null
// pointer ends the list.
inline Task run_in_order(std::array<Step*, 3> steps) {
  StepsOutcome outcome;
  bool goes_on = true;
  for (Step* step : steps) {
    if (step == nullptr) break;
    if (!goes_on) {
      step->skip();
      continue;
    }
    Task running = step->run();
    const Status status = co_await running;
    goes_on = outcome.add_step(status);
  }
  co_return outcome.result();
}

// Returns a view as a buffer of one block.
[[nodiscard]] inline Blocks one_block(const View& view) noexcept {
  Blocks blocks;
  *blocks.set_uniform(view.count, *const_cast<layout::Datatype*>(view.type)) = view;
  return blocks;
}
// Returns contiguous bytes as blocks of equal length.
[[nodiscard]] inline Blocks byte_blocks(const View& bytes, std::size_t block) noexcept {
  Blocks blocks;
  *blocks.set_uniform(static_cast<Count>(block), *const_cast<layout::Datatype*>(bytes.type)) = bytes;
  return blocks;
}

// True if there are hosts to compose over; for _in_order, also only if operands may be combined host after host.
[[nodiscard]] constexpr bool over_hosts(const Query& query) noexcept {
  return query.hosts > 1 && query.ranks_per_host > 1;
}
[[nodiscard]] constexpr bool over_hosts_in_order(const Query& query) noexcept {
  return over_hosts(query) && (query.commutative || query.hosts_in_order);
}

}  // namespace hr::coll

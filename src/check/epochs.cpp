// Epochs: detects accesses with an undefined outcome, by one origin to the same target memory within one epoch (MPI 5.0
// section 12.7): a put with any other access, or a get with an update. Updates of one type may overlap. Completed
// accesses are passed to races.hpp, which compares them with those of other processes.
//
// Calls outside an epoch, and those that end an epoch that is not open, are errors even without the checker
// (rma/epoch.hpp).
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "check/accesses.hpp"
#include "check/diagnostic.hpp"
#include "check/races.hpp"
#include "check/ranges.hpp"
#include "check/state.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

// Maximum number of groups per target; further accesses are not checked.
constexpr std::size_t kMostGroups = 256;
// Used instead of a hash if the hash means nothing: such puts count as puts of the same data.
constexpr std::uint64_t kAnyData = 1;

// Pending accesses of one call site. `request`: the operation's request; null: none.
struct Group {
  Accesses accesses;
  const void* request = nullptr;
};

struct Target {
  std::vector<Group> groups;
  bool fetches = false;  // an operation returns data from the target to this process
};

struct Epochs final : FileState {
  std::map<std::pair<std::uint32_t, int>, Target> of;  // indexed by context and target
  std::uint64_t data = 0;                              // hash of the data that the current call puts
};

Status compare(const Target& all, const Access& access, const Range& range, int rank) {
  for (const Group& group : all.groups) {
    if (!conflict(access, group.accesses.access, true)) continue;
    const auto common = group.accesses.intervals.common(range);
    if (!common) continue;
    const std::string call_site = text(group.accesses.call_site);
    return fail(
        Errc::kRmaConflict,
        "epoch: bytes %lld to %lld of the window's memory at rank %d %s here, and in the same epoch %s by %s; put a "
        "synchronisation (MPI_Win_fence, MPI_Win_flush) between the two, or take other memory",
        static_cast<long long>(common->begin), static_cast<long long>(common->end - 1), rank, verb(access.kind),
        verb(group.accesses.access.kind), call_site.c_str());
  }
  return kOk;
}

void add(Target& all, const Access& access, const Range& range, const Call& call, const void* request,
         const Moment& since) {
  const auto found = std::find_if(all.groups.rbegin(), all.groups.rend(), [&](const Group& each) {
    return each.request == request && each.accesses.access == access &&
           each.accesses.call_site.address == call.call_site().address && each.accesses.since == since;
  });
  if (found != all.groups.rend()) {
    found->accesses.data = 0;
    return found->accesses.intervals.add(range);
  }
  if (all.groups.size() >= kMostGroups) return;
  all.groups.push_back({{access, call.call_site(), since, 0, 0, {}, own<Epochs>().data}, request});
  all.groups.back().accesses.intervals.add(range);
}

// Returns the access of this kind to a range.
Access at(Access access, const Range& range) {
  const bool updates = access.kind == AccessKind::kUpdate || access.kind == AccessKind::kFetch;
  access.phase = updates ? range.begin % access.size : 0;
  return access;
}

Target& target_of(const Call& call) {
  const auto* const window = call.object<rma::Window>("win");
  return own<Epochs>().of[{window->context(), static_cast<int>(call.number("target_rank"))}];
}

// True if the elements have padding: a hash of such data means nothing.
bool has_padding(const layout::Datatype& type) {
  using layout::Basic;
  constexpr Basic kPadded[] = {Basic::kFloat80, Basic::kComplex80, Basic::kDoubleInt,
                               Basic::kLongInt, Basic::kShortInt,  Basic::kLongDoubleInt};
  return type.uniform() != nullptr && std::ranges::find(kPadded, type.uniform()->basic) != std::end(kPadded);
}

Status check_access(const Call& call, const Access& access) {
  const bool puts = access.kind == AccessKind::kPut && !call.buffers.empty() && call.buffers[0].hashed;
  own<Epochs>().data = !puts ? 0 : has_padding(*call.buffers[0].type) ? kAnyData : call.buffers[0].hash;
  std::vector<Range> ranges;
  if (!target_ranges(call, &ranges)) return kOk;
  const Target& all = target_of(call);
  const auto rank = static_cast<int>(call.number("target_rank"));
  for (const Range& range : ranges) HR_TRY(compare(all, at(access, range), range, rank));
  return kOk;
}

// Records an access that has been started.
void note(const Call& call, const Access& access) {
  std::vector<Range> ranges;
  if (!target_ranges(call, &ranges)) return;
  Target& all = target_of(call);
  const Moment since = moment();
  const Argument* const request = call.find("request");
  const void* const handle = request == nullptr ? nullptr : request->values()[0];
  for (const Range& range : ranges) add(all, at(access, range), range, call, handle, since);
  all.fetches |= call.find("result_addr") != nullptr;
}

bool only_reads(const Group& group) {
  return group.accesses.access.kind == AccessKind::kGet || group.accesses.access.kind == AccessKind::kFetch;
}

// Completes the groups of a target that `which` selects.
template <class Which>
void complete(rma::Window& window, int rank, Target& all, Which&& which) {
  const auto is_complete = [&](Group& group) {
    if (!which(group)) return false;
    group.accesses.until = own_count();
    group.accesses.until_phase = moment().phase;
    note_accesses(window, rank, std::move(group.accesses));
    return true;
  };
  std::erase_if(all.groups, is_complete);
  // The program may wait for other processes by polling data that they write to a window.
  if (std::exchange(all.fetches, false)) lose_order();
}

Status before(Call& call) {
  if (const auto access = access_of(call)) return check_access(call, *access);
  const Completes what = completed_by(call);
  auto& of = own<Epochs>().of;
  auto* const window = call.object<rma::Window>("win");
  if (!what.any || window == nullptr || of.empty()) return kOk;
  for (auto& [key, all] : of) {
    if (key.first != window->context() || (!what.all && key.second != what.target)) continue;
    complete(*window, key.second, all, [&](const Group& group) { return what.at_target || only_reads(group); });
  }
  std::erase_if(of, [](const auto& entry) { return entry.second.groups.empty(); });
  return kOk;
}

Status after(Call& call, int code) {
  if (const auto access = access_of(call); access && code == 0) note(call, *access);
  auto& of = own<Epochs>().of;
  if (of.empty()) return kOk;
  // A get whose request is complete has read its data; other operations may still be in progress at the target (section
  // 12.3.5).
  for (const Operation& operation : call.completed) {
    const auto found = of.find({operation.window, operation.target});
    if (operation.window == 0 || found == of.end()) continue;
    rma::Window* const window = window_of(operation.window);
    const auto is_its = [&](const Group& group) { return group.request == operation.request && only_reads(group); };
    if (window != nullptr) complete(*window, operation.target, found->second, is_its);
    for (Group& group : found->second.groups) {
      if (group.request == operation.request) group.request = nullptr;
    }
  }
  if (call.is("MPI_Win_free") && call.ended_context != 0)
    std::erase_if(of, [&](const auto& entry) { return entry.first.first == call.ended_context; });
  return kOk;
}

}  // namespace

extern const Diagnostic kEpochs;
const Diagnostic kEpochs{"epoch", nullptr, nullptr, before, after, nullptr};

}  // namespace hr::check

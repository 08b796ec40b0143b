// Deadlocks: ranks that wait for each other, so that none can continue.
//
// A rank reports to the first process of the job which processes it waits for, once it has been in one call for the
// time set by the knob and no message has moved in that time. If the call returns after all, the rank withdraws the
// report. The first process checks these reports while it is in an MPI call: a rank that waits only for ranks that
// cannot continue is in a deadlock. Processes without a report can continue. A process with several threads that call
// MPI reports nothing, because another thread may end the wait.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "check/diagnostic.hpp"
#include "check/messages.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "check/waits.hpp"
#include "p2p/wait/round_watch.hpp"

namespace hr::check {
namespace {

constexpr std::size_t kMostText = 360;

// Header of a message; the awaited processes and the text follow.
struct Report {
  std::int32_t waits = 0;  // 0: the process no longer waits
  std::int32_t any = 0;
  std::uint64_t context = 0;
  std::uint64_t sequence = 0;
  std::uint32_t processes = 0;
  std::uint32_t text = 0;
};

struct Reported {
  Wait wait;
  double at;
};

struct Deadlocks final : FileState {
  std::vector<Call*> calls;  // calls in progress
  std::thread::id thread;    // thread that made the first call
  bool threads = false;      // several threads have made calls
  bool told = false;         // the last report said that this process waits
  double told_at = 0;
  double next_look = 0;
  // Used by the first process:
  std::map<int, Reported> waiting;
  double found_at = 0;  // when a deadlock was found; 0: none
  bool told_all = false;
};

bool is_first() { return boot::processes().self() == 0; }

void take_report(const Told& told) {
  Report report;
  if (told.data.size() < sizeof report) return;
  std::memcpy(&report, told.data.data(), sizeof report);
  const std::size_t rest = told.data.size() - sizeof report;
  if (report.processes > rest / sizeof(int) || report.text > rest - report.processes * sizeof(int)) return;
  auto& all = own<Deadlocks>();
  if (report.waits == 0) {
    all.waiting.erase(told.from);
    return;
  }
  Reported& reported = all.waiting[told.from];
  reported.at = now_seconds();
  Wait& wait = reported.wait;
  wait.any = report.any != 0;
  wait.context = static_cast<std::uint32_t>(report.context);
  wait.sequence = report.sequence;
  wait.processes.resize(report.processes);
  const std::byte* const list = told.data.data() + sizeof report;
  std::memcpy(wait.processes.data(), list, report.processes * sizeof(int));
  wait.text.assign(reinterpret_cast<const char*>(list + report.processes * sizeof(int)), report.text);
}

void tell_first(const Wait* wait) {
  Report report;
  std::vector<std::byte> message(sizeof report);
  if (wait != nullptr) {
    report.waits = 1;
    report.any = wait->any ? 1 : 0;
    report.context = wait->context;
    report.sequence = wait->sequence;
    report.processes = static_cast<std::uint32_t>(wait->processes.size());
    report.text = static_cast<std::uint32_t>(std::min(wait->text.size(), kMostText));
    const auto processes = std::as_bytes(std::span(wait->processes));
    message.insert(message.end(), processes.begin(), processes.end());
    const auto text = std::as_bytes(std::span(wait->text)).first(report.text);
    message.insert(message.end(), text.begin(), text.end());
    if (message.size() > longest(0)) return;
  }
  std::memcpy(message.data(), &report, sizeof report);
  own<Deadlocks>().told = wait != nullptr;
  own<Deadlocks>().told_at = now_seconds();
  tell(0, Word::kWaiting, 0, message);
}

void check_own_wait(double now) {
  auto& all = own<Deadlocks>();
  if (all.told && !all.calls.empty() && all.calls.back()->since > all.told_at) tell_first(nullptr);
  if (all.told || all.threads || all.calls.empty() || now - all.calls.back()->since < knobs().check_wait_seconds)
    return;
  const std::optional<Wait> wait = wait_of(*all.calls.back());
  if (!wait || wait->processes.empty()) return;
  // Processes of other jobs are assumed to be able to continue.
  const int size = boot::identity().size;
  if (std::ranges::any_of(wait->processes, [&](int each) { return each >= size; })) return;
  tell_first(&*wait);
}

bool same_collective(const Wait& a, const Wait& b) {
  return a.sequence != 0 && a.sequence == b.sequence && a.context == b.context;
}

// Returns the waiting processes except those whose wait can end.
std::map<int, Wait> stuck(std::map<int, Wait> waiting) {
  const auto hinders = [&](const Wait& wait, int process) {
    const auto other = waiting.find(process);
    return other != waiting.end() && !same_collective(wait, other->second);
  };
  for (bool changed = true; changed;) {
    changed = std::erase_if(waiting, [&](const auto& entry) {
                const Wait& wait = entry.second;
                const auto hindered = [&](int process) { return hinders(wait, process); };
                return !(wait.any ? std::ranges::all_of(wait.processes, hindered)
                                  : std::ranges::any_of(wait.processes, hindered));
              }) != 0;
  }
  return waiting;
}

// Returns processes that wait for each other in a cycle; empty if none is found.
std::vector<int> cycle_of(const std::map<int, Wait>& all) {
  std::vector<int> way{all.begin()->first};
  for (;;) {
    const Wait& wait = all.at(way.back());
    const auto next = std::ranges::find_if(wait.processes, [&](int each) {
      const auto other = all.find(each);
      return other != all.end() && !same_collective(wait, other->second);
    });
    if (next == wait.processes.end()) return {};
    const auto before = std::ranges::find(way, *next);
    if (before != way.end()) return {before, way.end()};
    way.push_back(*next);
  }
}

std::string line_of(int process, const Wait& wait) { return "rank " + std::to_string(process) + " " + wait.text; }

void tell_all(const std::map<int, Wait>& all) {
  constexpr std::size_t kMostInLine = 4;
  constexpr int kMostLines = 64;
  const std::vector<int> cycle = cycle_of(all);
  std::string summary;
  for (const int each : cycle) summary += (summary.empty() ? "" : ", ") + line_of(each, all.at(each));
  const bool short_cycle = !cycle.empty() && cycle.size() <= kMostInLine;
  if (!short_cycle) summary = std::to_string(all.size()) + " ranks wait for each other";
  report("deadlock: %s; no other rank can end it, and there was no progress for %g s", summary.c_str(),
         knobs().check_wait_seconds);
  int lines = 0;
  for (const auto& [process, wait] : all) {
    if (short_cycle && std::ranges::find(cycle, process) != cycle.end()) continue;
    if (++lines > kMostLines) break;
    report("deadlock: %s", line_of(process, wait).c_str());
  }
}

// Runs on the first process.
void check_all_waits(double now) {
  auto& all = own<Deadlocks>();
  const double settled = std::min(0.5 * knobs().check_wait_seconds, 2.0);
  if (all.told_all || all.waiting.empty()) return;
  std::map<int, Wait> waiting;  // waits that were not reported recently
  for (const auto& [process, reported] : all.waiting) {
    if (now - reported.at >= settled) waiting.emplace(process, reported.wait);
  }
  const std::map<int, Wait> found = stuck(std::move(waiting));
  if (found.empty()) {
    all.found_at = 0;
    return;
  }
  // Delays the message, so that other processes that wait for the ones found can report as well.
  if (all.found_at == 0) all.found_at = now;
  if (now - all.found_at < 2 * settled) return;
  all.told_all = true;
  tell_all(found);
  if (knobs().check_deadlock == CheckDeadlockChoice::kAbort)
    boot::abort(1, "check full: a deadlock ends the job (HEADRACE_CHECK_DEADLOCK=tell only reports it)");
}

// Runs in each round of progress, so it acts only occasionally.
void look() {
  auto& all = own<Deadlocks>();
  const double now = now_seconds();
  if (now < all.next_look) return;
  all.next_look = now + std::min(0.05, 0.1 * knobs().check_wait_seconds);
  check_own_wait(now);
  if (is_first()) check_all_waits(now);
}

Status before(Call& call) {
  auto& all = own<Deadlocks>();
  const std::thread::id self = std::this_thread::get_id();
  if (all.thread == std::thread::id{}) all.thread = self;
  all.threads |= all.thread != self;
  all.calls.push_back(&call);
  return kOk;
}

Status after(Call& call, int) {
  auto& all = own<Deadlocks>();
  std::erase(all.calls, &call);
  if (all.told) tell_first(nullptr);
  return kOk;
}

void start() {
  if (knobs().check_wait_seconds <= 0) return;
  on_word(Word::kWaiting, take_report);
  p2p::watch_rounds(look);
}

void stop() {
  if (knobs().check_wait_seconds > 0) p2p::unwatch_rounds();
}

}  // namespace

extern const Diagnostic kDeadlocks;
const Diagnostic kDeadlocks{"deadlock", start, stop, before, after, nullptr};

}  // namespace hr::check

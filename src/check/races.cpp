#include "check/races.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "check/diagnostic.hpp"
#include "check/messages.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "check/watch.hpp"
#include "comm/group.hpp"
#include "p2p/progress.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

// Maximum number of entries per window; further entries replace the oldest. Races with a replaced entry are no longer
// found.
constexpr std::size_t kMostEntries = 512;
// Maximum number of accesses waiting to be sent.
constexpr std::size_t kMostNoted = 4096;
constexpr std::size_t kLooksBack = 8;
// Maximum number of races waiting to be reported.
constexpr std::size_t kMostFound = 64;

struct Noted {
  std::uint32_t context;
  int rank;  // rank of the target
  int proc;
  Accesses accesses;
};

// An access as the target knows it.
struct Entry {
  int origin = -1;  // process
  int rank = -1;    // rank of the origin
  Access access;
  Counts known;
  std::uint32_t until = 0;
  std::uint32_t phase = 0;  // phase in which the access began
  std::uint32_t until_phase = 0;
  bool unsure = false;
  bool locked = false;
  RemoteCallSite call_site;
  Intervals intervals;
  std::uint64_t data = 0;
};

// Header of a message; the origin's Counts and the byte ranges follow.
struct Head {
  Access access;
  std::uint64_t data;
  std::uint32_t phase;
  std::uint32_t until_phase;
  std::uint32_t until;
  std::uint32_t rank;
  std::uint32_t ranges;
  std::uint32_t unsure;
  std::uint32_t locked;
  RemoteCallSite call_site;
};

struct LockNote {
  std::uint32_t phase;
  std::uint32_t exclusive;
};

// One side of a race.
struct Side {
  int rank;
  AccessKind kind;
  RemoteCallSite call_site;
};
struct Race {
  std::uint32_t context;
  std::uint32_t phases[2];
  bool locked;
  bool alike;  // true if both put the same data
  int target;  // rank
  Range bytes;
  Side first, second;
};

// Processes that have locked windows in a phase. Locks order their holders, but the checker does not follow this order.
struct Lockers {
  std::set<int> procs;
  bool exclusive = false;
};

struct Races final : FileState {
  std::vector<Noted> noted;
  std::map<std::uint32_t, std::deque<Entry>> entries;      // by context
  std::map<std::uint32_t, Lockers> lockers;                // by phase
  std::set<std::uint32_t> synced;                          // phases in which this process called MPI_Win_sync
  std::map<std::uint32_t, std::vector<std::byte>> clocks;  // clocks of posts and completes, indexed by context
  std::map<std::uint32_t, rma::Window*> windows;           // live windows, by context
  std::vector<Race> found;
  std::set<std::pair<std::uint64_t, std::uint64_t>> reported;  // reported pairs of call sites that put the same data
  std::optional<std::uint32_t> due;                            // a window's context; 0: all
};

bool looks_at(const rma::Window& window) {
  // Loads and stores to memory that several processes share also order the processes; the checker does not see this
  // order.
  return follows_order() && window.flavor_ != rma::Flavor::kShared && !window.comm_->has_others_;
}

bool is_ordered(const Entry& first, const Entry& second) {
  return first.until <= second.known[static_cast<std::size_t>(first.origin)];
}

void check_pair(std::uint32_t context, const Entry& a, const Entry& b) {
  if (a.origin == b.origin || a.unsure || b.unsure || !conflict(a.access, b.access, false)) return;
  if (a.until_phase < b.phase || b.until_phase < a.phase || is_ordered(a, b) || is_ordered(b, a)) return;
  const auto common = a.intervals.common(b.intervals);
  if (!common) return;
  const Entry& first = a.rank <= b.rank ? a : b;
  const Entry& second = &first == &a ? b : a;
  const auto is_side = [](const Side& side, const Entry& entry) {
    return side.rank == entry.rank && side.kind == entry.access.kind && side.call_site.offset == entry.call_site.offset;
  };
  auto& all = own<Races>();
  const bool known = std::ranges::any_of(all.found, [&](const Race& each) {
    return each.context == context && is_side(each.first, first) && is_side(each.second, second);
  });
  if (known || all.found.size() >= kMostFound) return;
  const auto window = all.windows.find(context);
  all.found.push_back({context,
                       {a.phase, b.phase},
                       a.locked || b.locked,
                       a.data != 0 && a.data == b.data && a.intervals == b.intervals,
                       window == all.windows.end() ? -1 : window->second->rank(),
                       *common,
                       {first.rank, first.access.kind, first.call_site},
                       {second.rank, second.access.kind, second.call_site}});
}

void enter(std::uint32_t context, Entry entry) {
  auto& entries = own<Races>().entries[context];
  for (const Entry& other : entries) check_pair(context, entry, other);
  // Accesses that a loop repeats share an entry.
  const auto alike = std::find_if(entries.rbegin(), entries.rend(), [&](const Entry& each) {
    return each.origin == entry.origin && each.access == entry.access &&
           each.call_site.offset == entry.call_site.offset && each.until == entry.until && each.phase == entry.phase &&
           each.until_phase == entry.until_phase && each.unsure == entry.unsure && each.locked == entry.locked &&
           each.known == entry.known;
  });
  if (alike != entries.rend()) {
    if (alike->data != entry.data || alike->intervals != entry.intervals) alike->data = 0;
    for (const auto& [begin, end] : entry.intervals.ranges()) alike->intervals.add({begin, end});
    return;
  }
  entries.push_back(std::move(entry));
  if (entries.size() > kMostEntries) entries.pop_front();
}

void take_accesses(const Told& told) {
  Head head{};
  if (told.data.size() < sizeof head || !follows_order()) return;
  std::memcpy(&head, told.data.data(), sizeof head);
  Entry entry;
  entry.origin = told.from;
  entry.rank = static_cast<int>(head.rank);
  entry.access = head.access;
  entry.data = head.data;
  entry.until = head.until;
  entry.phase = head.phase;
  entry.until_phase = head.until_phase;
  entry.unsure = head.unsure != 0;
  entry.locked = head.locked != 0;
  entry.call_site = head.call_site;
  entry.known.resize(static_cast<std::size_t>(boot::identity().size));
  const std::size_t counts = entry.known.size() * sizeof(std::uint32_t);
  if (told.data.size() != sizeof head + counts + head.ranges * sizeof(Range)) return;
  std::memcpy(entry.known.data(), told.data.data() + sizeof head, counts);
  const std::byte* at = told.data.data() + sizeof head + counts;
  for (std::uint32_t i = 0; i < head.ranges; ++i, at += sizeof(Range)) {
    Range range{};
    std::memcpy(&range, at, sizeof range);
    entry.intervals.add(range);
  }
  enter(static_cast<std::uint32_t>(told.subject), std::move(entry));
}

void send_accesses(const Noted& noted) {
  const Accesses& accesses = noted.accesses;
  const std::size_t fixed = sizeof(Head) + accesses.since.known->size() * sizeof(std::uint32_t);
  const std::size_t room = noted.proc == boot::processes().self() ? fixed + 65536 : longest(noted.proc);
  if (room < fixed + sizeof(Range)) return;
  const std::size_t most = (room - fixed) / sizeof(Range);
  const auto* const window = window_of(noted.context);
  if (window == nullptr) return;
  const Head head{accesses.access,
                  accesses.data,
                  accesses.since.phase,
                  accesses.until_phase,
                  accesses.until,
                  static_cast<std::uint32_t>(window->rank()),
                  0,
                  accesses.since.unsure ? 1U : 0U,
                  accesses.since.locked ? 1U : 0U,
                  remote(accesses.call_site)};
  const auto& ranges = accesses.intervals.ranges();
  for (auto at = ranges.begin(); at != ranges.end();) {
    std::vector<std::byte> message(sizeof head);
    const auto counts = std::as_bytes(std::span(*accesses.since.known));
    message.insert(message.end(), counts.begin(), counts.end());
    Head here = head;
    for (; at != ranges.end() && here.ranges < most; ++at, ++here.ranges) {
      const Range range{at->first, at->second};
      const auto bytes = bytes_of(range);
      message.insert(message.end(), bytes.begin(), bytes.end());
    }
    std::memcpy(message.data(), &here, sizeof here);
    tell(noted.proc, Word::kAccesses, noted.context, message);
  }
}

// --- ordering by post, start, complete and wait, and by locks ---

void take_clock(const Told& told) { join(own<Races>().clocks[static_cast<std::uint32_t>(told.subject)], told.data); }

void send_clock(const rma::Window& window, int proc) {
  std::vector<std::byte> clock;
  release(clock);
  tell(proc, Word::kClock, window.context(), clock);
}

void take_lock(const Told& told) {
  LockNote note{};
  if (told.data.size() != sizeof note) return;
  std::memcpy(&note, told.data.data(), sizeof note);
  Lockers& lockers = own<Races>().lockers[note.phase];
  lockers.procs.insert(told.from);
  lockers.exclusive |= note.exclusive != 0;
}

void tell_of_lock(const Call& call, const rma::Window& window) {
  if ((call.number("assert") & abi::kModeNocheck) != 0) return;
  note_lock();
  const bool exclusive = call.number("lock_type") == abi::kLockExclusive && call.is("MPI_Win_lock");
  const std::uint32_t phase = moment().phase;
  const Lockers& lockers = own<Races>().lockers[phase];
  const int self = boot::processes().self();
  if (lockers.procs.contains(self) && (lockers.exclusive || !exclusive)) return;
  const LockNote note{phase, exclusive ? 1U : 0U};
  for (int rank = 0; rank < window.size(); ++rank)
    tell(window.proc(rank), Word::kLocks, window.context(), bytes_of(note));
}

Status before(Call& call) {
  if (!follows_order()) return kOk;
  auto* const window = call.object<rma::Window>("win");
  if (window == nullptr || !call.function().starts_with("MPI_Win_") || !looks_at(*window)) return kOk;
  if (call.is("MPI_Win_lock") || call.is("MPI_Win_lock_all")) tell_of_lock(call, *window);
  if (call.is("MPI_Win_sync")) own<Races>().synced.insert(moment().phase);
  if (call.is("MPI_Win_complete")) {
    for (const int rank : window->start_ranks_) send_clock(*window, window->proc(rank));
  }
  if (call.is("MPI_Win_post")) {
    const auto* const group = call.object<comm::Group>("group");
    for (int rank = 0; group != nullptr && rank < group->size(); ++rank) send_clock(*window, group->proc(rank));
  }
  return kOk;
}

void learn_window_clock(const rma::Window& window) {
  auto& clocks = own<Races>().clocks;
  const auto found = clocks.find(window.context());
  if (found == clocks.end()) return;
  learn(found->second);
  clocks.erase(found);
}

void note_windows(const Call& call) {
  for (const Argument& each : call.arguments()) {
    if (each.use != Argument::Use::kMade || each.kind != ObjectKind::kWindow) continue;
    auto* const window = call.object<rma::Window>(each.name);
    if (window == nullptr) continue;
    own<Races>().windows[window->context()] = window;
    if (looks_at(*window)) watch_window(*window);
  }
}

// --- loads and stores to the window's memory by other MPI calls ---

void note_buffer(const Buffer& buffer, const CallSite& call_site) {
  const Range span = span_of({reinterpret_cast<std::uintptr_t>(buffer.address), *buffer.type, buffer.count});
  for (const auto& [context, window] : own<Races>().windows) {
    const auto base = reinterpret_cast<std::uintptr_t>(window->own().base);
    const std::uintptr_t end = base + static_cast<std::uintptr_t>(window->own().bytes);
    const Range range{std::max(span.begin, base), std::min(span.end, end)};
    if (base == 0 || range.begin >= range.end || !buffer.type->contiguous(buffer.count)) continue;
    note_own_access(*window, buffer.written ? AccessKind::kStore : AccessKind::kLoad, call_site, range);
  }
}

void note_received(const Call& call) {
  if (own<Races>().windows.empty()) return;
  if (call.find("source") != nullptr && call.find("comm") != nullptr) {
    for (const Buffer& buffer : call.buffers) {
      if (buffer.written) note_buffer(buffer, call.call_site());
    }
  }
  for (const Operation& operation : call.completed) {
    if (operation.kind != Operation::Kind::kReceive) continue;
    for (const Buffer& buffer : operation.buffers) note_buffer(buffer, operation.call_site);
  }
}

// --- reports ---

// Returns "rank 0 writes them (MPI_Put at halo.c:12 (main))".
std::string who(const Side& side) {
  const bool writes = side.kind == AccessKind::kPut || side.kind == AccessKind::kStore;
  const char* const what = writes                             ? " writes them ("
                           : side.kind == AccessKind::kUpdate ? " updates them ("
                                                              : " reads them (";
  return "rank " + std::to_string(side.rank) + what + text(side.call_site) + ")";
}

std::string describe(const Race& race) {
  return "epoch: bytes " + std::to_string(race.bytes.begin) + " to " + std::to_string(race.bytes.end - 1) +
         " of the window's memory at rank " + std::to_string(race.target) + ": " + who(race.first) + ", " +
         who(race.second) + ", and nothing orders the two; put a synchronisation between them, or take other memory";
}

bool is_own(const Side& side) noexcept { return side.kind == AccessKind::kLoad || side.kind == AccessKind::kStore; }

bool is_excused(const Race& race) {
  auto& all = own<Races>();
  const bool polled = is_own(race.first) || is_own(race.second);
  return std::ranges::any_of(race.phases, [&](std::uint32_t phase) {
    const auto lockers = all.lockers.find(phase);
    const bool ordered = lockers != all.lockers.end() && lockers->second.exclusive && lockers->second.procs.size() > 1;
    return (race.locked && ordered) || (polled && all.synced.contains(phase));
  });
}

// Forgets entries older than the previous phase, which are no longer needed.
void forget_old() {
  auto& all = own<Races>();
  const std::uint32_t now = moment().phase;
  for (auto& [context, entries] : all.entries)
    std::erase_if(entries, [now](const Entry& each) { return each.until_phase + 1 < now; });
  std::erase_if(all.entries, [](const auto& each) { return each.second.empty(); });
  std::erase_if(all.lockers, [now](const auto& entry) { return entry.first + 1 < now; });
  std::erase_if(all.synced, [now](std::uint32_t phase) { return phase + 1 < now; });
}

// Removes and returns the races of a window; 0: of all windows.
std::vector<Race> take_found(std::uint32_t context) {
  auto& all = own<Races>();
  std::vector<Race> found;
  std::erase_if(all.found, [&](const Race& race) {
    if (context != 0 && race.context != context) return false;
    if (is_excused(race)) return true;
    if (!race.alike) {
      found.push_back(race);
    } else if (all.reported.emplace(race.first.call_site.offset, race.second.call_site.offset).second) {
      // The standard leaves the result undefined, but two writes of the same data are harmless.
      report("%s (both write the same data)", describe(race).c_str());
    }
    return true;
  });
  forget_old();
  if (p2p::any_failures()) found.clear();  // a failed process has not synchronised
  return found;
}

Status after(Call& call, int code) {
  auto& all = own<Races>();
  if (!follows_order()) return kOk;
  if (code == 0) note_windows(call);
  auto* const window = call.object<rma::Window>("win");
  if (window != nullptr && code == 0 &&
      (call.is("MPI_Win_start") || call.is("MPI_Win_wait") || call.is("MPI_Win_test")))
    learn_window_clock(*window);
  if (code == 0) note_received(call);
  if (call.ended_context != 0) {
    all.windows.erase(call.ended_context);
    unwatch_window(call.ended_context);
  }
  if (!all.due) return kOk;
  // Reports from other processes may take other paths than the outcome of the collective, and arrive later.
  p2p::poll();
  p2p::poll();
  const std::vector<Race> found = take_found(*std::exchange(all.due, std::nullopt));
  if (found.empty()) return kOk;
  for (std::size_t i = 1; i < found.size(); ++i) report("%s", describe(found[i]).c_str());
  if (call.ended_context != 0) call.where = nullptr;  // the call has freed that object
  if (rma::Window* const its = window_of(found[0].context)) call.where = its;
  const std::string text = describe(found[0]);
  return fail(Errc::kRmaConflict, "%s", text.c_str());
}

void at_finalize() {
  if (!follows_order()) return;
  for (const Race& race : take_found(0)) report("%s", describe(race).c_str());
}

void start() {
  on_word(Word::kAccesses, take_accesses);
  on_word(Word::kClock, take_clock);
  on_word(Word::kLocks, take_lock);
}

}  // namespace

rma::Window* window_of(std::uint32_t context) {
  const auto& windows = own<Races>().windows;
  const auto found = windows.find(context);
  return found == windows.end() ? nullptr : found->second;
}

void note_accesses(rma::Window& window, int target, Accesses accesses) {
  auto& noted = own<Races>().noted;
  if (!looks_at(window) || window_of(window.context()) == nullptr) return;
  const auto is_like = [&](const Noted& each) {
    const Accesses& its = each.accesses;
    return each.context == window.context() && each.rank == target && its.access == accesses.access &&
           its.call_site.address == accesses.call_site.address && its.until == accesses.until &&
           its.until_phase == accesses.until_phase && its.since == accesses.since;
  };
  const auto end = noted.rbegin() + static_cast<std::ptrdiff_t>(std::min(noted.size(), kLooksBack));
  const auto found = std::find_if(noted.rbegin(), end, is_like);
  if (found != end) {
    if (found->accesses.data != accesses.data || found->accesses.intervals != accesses.intervals)
      found->accesses.data = 0;
    for (const auto& [begin, last] : accesses.intervals.ranges()) found->accesses.intervals.add({begin, last});
    return;
  }
  if (noted.size() < kMostNoted) noted.push_back({window.context(), target, window.proc(target), std::move(accesses)});
}

void note_own_access(rma::Window& window, AccessKind kind, const CallSite& call_site, const Range& memory) {
  if (!looks_at(window)) return;
  const Moment now = moment();
  const auto base = reinterpret_cast<std::uintptr_t>(window.own().base);
  Entry entry;
  entry.origin = boot::processes().self();
  entry.rank = window.rank();
  entry.access.kind = kind;
  entry.known = *now.known;
  entry.until = own_count();
  entry.phase = entry.until_phase = now.phase;
  entry.unsure = now.unsure;
  entry.locked = now.locked;
  entry.call_site = remote(call_site);
  entry.intervals.add({memory.begin - base, memory.end - base});
  enter(window.context(), std::move(entry));
}

void tell_accesses() {
  for (const Noted& each : std::exchange(own<Races>().noted, {})) send_accesses(each);
}

void expect_findings(std::uint32_t context) { own<Races>().due = context; }

extern const Diagnostic kRaces;
const Diagnostic kRaces{"epoch", start, nullptr, before, after, at_finalize};

}  // namespace hr::check

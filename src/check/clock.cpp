#include "check/clock.hpp"

#include <algorithm>
#include <cstring>

#include "boot/boot.hpp"
#include "check/call.hpp"
#include "check/diagnostic.hpp"
#include "check/state.hpp"

namespace hr::check {
namespace {

// Maximum number of processes. Larger vectors would not fit into the active messages of all transports.
constexpr std::size_t kMostProcesses = 128;

// Bits of the last word of a clock in a message.
enum Mark : std::uint32_t { kUnsure = 1, kLocked = 2 };

struct Clock final : FileState {
  Counts counts;
  std::shared_ptr<const Counts> snapshot;  // null if the clock has changed since the snapshot
  std::uint32_t phase = 0;
  bool unsure = false;
  bool locked = false;

  Clock() {
    const boot::Identity& job = boot::identity();
    const auto size = static_cast<std::size_t>(job.size);
    if (size < 2 || size > kMostProcesses) return;
    counts.resize(size);
    counts[static_cast<std::size_t>(job.rank)] = 1;
  }
};

std::uint32_t& own_of(Clock& clock) { return clock.counts[static_cast<std::size_t>(boot::identity().rank)]; }

bool read(std::span<const std::byte> bytes, Counts* counts, std::uint32_t* marks) {
  const std::size_t size = own<Clock>().counts.size();
  if (size == 0 || bytes.size() != (size + 1) * sizeof(std::uint32_t)) return false;
  counts->resize(size);
  std::memcpy(counts->data(), bytes.data(), size * sizeof(std::uint32_t));
  std::memcpy(marks, bytes.data() + size * sizeof(std::uint32_t), sizeof *marks);
  return true;
}

void append(std::vector<std::byte>& message, const Counts& counts, std::uint32_t marks) {
  const auto words = std::as_bytes(std::span(counts));
  message.insert(message.end(), words.begin(), words.end());
  const auto last = std::as_bytes(std::span(&marks, 1));
  message.insert(message.end(), last.begin(), last.end());
}

// True for calls that order this process after others by means that the checker does not follow.
bool orders_unseen(const Call& call) {
  constexpr std::string_view kFunctions[] = {"MPI_Probe",
                                             "MPI_Iprobe",
                                             "MPI_Ssend",
                                             "MPI_Win_sync",
                                             "MPI_Parrived",
                                             "MPI_Comm_create_group",
                                             "MPI_Intercomm_create",
                                             "MPI_Comm_create_from_group",
                                             "MPI_Comm_join",
                                             "MPI_Comm_get_parent",
                                             "MPI_Lookup_name",
                                             "MPI_Intercomm_create_from_groups",
                                             "MPI_Cancel"};
  const std::string_view name = call.function();
  return name.starts_with("MPIX_") || name.ends_with("_end") || name.find("_idup") != std::string_view::npos ||
         name.find("_shared") != std::string_view::npos || std::ranges::find(kFunctions, name) != std::end(kFunctions);
}

bool orders_unseen(const Operation& operation) {
  const std::string_view name(operation.call_site.function);
  const bool synchronous = name.find("ssend") != std::string_view::npos || name.find("Ssend") != std::string_view::npos;
  return synchronous || operation.kind == Operation::Kind::kCollective ||
         (operation.kind == Operation::Kind::kOther && operation.window == 0);
}

Status after(Call& call, int code) {
  if (!follows_order() || own<Clock>().unsure) return kOk;
  if ((code == 0 && orders_unseen(call)) ||
      std::ranges::any_of(call.completed, [](const Operation& each) { return orders_unseen(each); }))
    lose_order();
  return kOk;
}

}  // namespace

bool follows_order() { return !own<Clock>().counts.empty(); }

Moment moment() {
  auto& clock = own<Clock>();
  if (clock.snapshot == nullptr) clock.snapshot = std::make_shared<const Counts>(clock.counts);
  return {clock.snapshot, clock.phase, clock.unsure, clock.locked};
}

std::uint32_t own_count() { return follows_order() ? own_of(own<Clock>()) : 0; }

std::size_t clock_bytes() {
  const std::size_t size = own<Clock>().counts.size();
  return size == 0 ? 0 : (size + 1) * sizeof(std::uint32_t);
}

void release(std::vector<std::byte>& message) {
  auto& clock = own<Clock>();
  if (clock.counts.empty()) return;
  append(message, clock.counts, (clock.unsure ? kUnsure : 0U) | (clock.locked ? kLocked : 0U));
  ++own_of(clock);
}

void learn(std::span<const std::byte> bytes) {
  auto& clock = own<Clock>();
  Counts counts;
  std::uint32_t marks = 0;
  if (!read(bytes, &counts, &marks)) return lose_order();
  const auto self = static_cast<std::size_t>(boot::identity().rank);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i == self || counts[i] <= clock.counts[i]) continue;
    clock.counts[i] = counts[i];
    clock.snapshot = nullptr;
  }
  clock.unsure |= (marks & kUnsure) != 0;
  clock.locked |= (marks & kLocked) != 0;
}

void join(std::vector<std::byte>& into, std::span<const std::byte> clock) {
  if (into.empty()) return into.assign(clock.begin(), clock.end());
  Counts counts, more;
  std::uint32_t marks = 0, more_marks = 0;
  if (!read(into, &counts, &marks) || !read(clock, &more, &more_marks)) return into.resize(1);  // makes `into` invalid
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = std::max(counts[i], more[i]);
  into.clear();
  append(into, counts, marks | more_marks);
}

void lose_order() { own<Clock>().unsure = true; }
void note_lock() { own<Clock>().locked = true; }

void begin_phase() {
  auto& clock = own<Clock>();
  clock.unsure = clock.locked = false;
  ++clock.phase;
}

extern const Diagnostic kOrder;
const Diagnostic kOrder{"order", nullptr, nullptr, nullptr, after, nullptr};

}  // namespace hr::check

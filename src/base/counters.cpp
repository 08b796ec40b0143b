#include "base/counters.hpp"

#include <algorithm>
#include <atomic>

#include "base/counter_details.hpp"
#include "base/counter_timing.hpp"

namespace hr::counters {
namespace {

Peer* find_row(int process) noexcept {
  const Value wanted = static_cast<Value>(process) + 1;
  for (std::size_t i = 0; i < kPeers - kClasses && page.peers[i].process != 0; ++i) {
    if (page.peers[i].process == wanted) return &page.peers[i];
  }
  return nullptr;
}

}  // namespace

Peer& row_of(int process, PeerClass peer_class) noexcept {
  const Value wanted = static_cast<Value>(process) + 1;
  for (std::size_t i = 0; i < kPeers - kClasses; ++i) {
    Peer& row = page.peers[i];
    if (row.process == wanted) return row;
    if (row.process != 0) continue;
    row.peer_class = static_cast<Value>(peer_class);
    std::atomic_ref<Value>(row.process).store(wanted, std::memory_order_relaxed);  // threads of channels look for rows
    return row;
  }
  Peer& others = row_of_others(peer_class);
  others.peer_class = static_cast<Value>(peer_class);
  return others;
}

void count_mark(int level) noexcept {
  Mark& mark = page.mark[page.marks % kMarks];
  mark = {nanoseconds(CLOCK_REALTIME), static_cast<Value>(level)};
  ++page.marks;
}

bool begin_wait(int process) noexcept {
  if (page.now.waiting_since != 0) return false;
  page.now.waiting_for = static_cast<Value>(process + 1);
  page.now.waiting_since = nanoseconds(CLOCK_MONOTONIC);
  if (page.timed == 0 && page.now.function != 0) {
    page.timed = page.now.function;
    page.timed_since = kFromWait;
    page.waited_before = page.waited;
  }
  return true;
}

void end_wait(int process) noexcept {
  const Value since = page.now.waiting_since;
  const Value waited = nanoseconds(CLOCK_MONOTONIC) - since;
  page.now.waiting_since = 0;
  page.now.waiting_for = 0;
  ++page.waits;
  page.waited += waited;
  page.longest_wait = std::max(page.longest_wait, waited);
  page.waited_in[page.now.function] += waited;
  page.functions[page.now.function].nanoseconds += waited;
  if (process < 0) return;
  Peer* const row = find_row(process);
  if (row == nullptr) return;
  ++row->waits;
  row->waited += waited;
}

void begin_timing(std::size_t function) noexcept {
  page.timed = function;
  page.waited_before = page.waited;
  page.timed_since = nanoseconds(CLOCK_MONOTONIC);
}

// The time of a function excludes waits, whose time has already been counted.
void end_timing() noexcept {
  const Value all_waits = page.waited - page.waited_before;
  if (page.timed_since == kFromWait) {
    if (all_waits != 0) count_duration(duration_row(page.timed), all_waits, 1);
    page.timed = 0;
    return;
  }
  const Value length = nanoseconds(CLOCK_MONOTONIC) - page.timed_since;
  const Value waited = std::min(length, all_waits);
  Function& own = page.functions[page.timed];
  Value& stands_for = page.stands_for[page.timed];
  own.nanoseconds += (length - waited) * std::max<Value>(stands_for, 1);
  // Every call with a long wait counts by itself, so this one represents no others.
  count_duration(duration_row(page.timed), length, waited != 0 ? 1 : std::max<Value>(stands_for, 1));
  stands_for = length > kLong ? 1 : kOneOf;
  own.timed_next = own.calls + stands_for - 1;
  page.timed = 0;
}

}  // namespace hr::counters

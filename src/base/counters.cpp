#include "base/counters.hpp"

#include <atomic>

#include "base/counter_timing.hpp"

namespace hr::counters {
std::size_t find_row(int process) noexcept {
  const Value wanted = static_cast<Value>(process) + 1;
  for (std::size_t i = 0; process >= 0 && i < kPeers - kClasses; ++i) {
    const Value found = std::atomic_ref<Value>(page.peers[i].process).load(std::memory_order_relaxed);
    if (found == wanted) return i;
    if (found == 0) break;
  }
  return kPeers;
}

Peer& row_of(int process, PeerClass peer_class) noexcept {
  const Value wanted = static_cast<Value>(process) + 1;
  for (std::size_t i = 0; i < kPeers - kClasses; ++i) {
    Peer& row = page.peers[i];
    if (row.process == wanted) return row;
    if (row.process != 0) continue;
    row.peer_class = static_cast<Value>(peer_class);
    std::atomic_ref<Value>(row.process).store(wanted, std::memory_order_relaxed);  // threads that use channels look for
                                                                                   // rows
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

bool begin_wait(int process) noexcept { return begin_wait_in(page, page.now.function, process); }

void end_wait(int process) noexcept {
  const Value waited = end_wait_in(page, page.now.function);
  const std::size_t row = find_row(process);
  if (row != kPeers) count_wait(page.peers[row], waited);
}

void begin_timing(std::size_t function) noexcept { begin_timing_in(page, function); }
void end_timing() noexcept { end_timing_in(page, duration_row(page.timed)); }

}  // namespace hr::counters

#include "base/counter_parts.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "base/counter_timing.hpp"
#include "base/counters_page.hpp"
#include "base/lock.hpp"

namespace hr::counters {
namespace {

// The first part belongs to no thread or channel: the counts of threads and channels that found no free part are added
// to it, under the library lock.
std::atomic<bool> taken[kParts] = {true};

std::atomic<int> threads{0};

bool is_shared(const Part& part) noexcept { return &part >= std::begin(parts.part) && &part < std::end(parts.part); }

// Makes all parts up to this one readable by other processes. False if there is no memory for them.
bool use_up_to(std::size_t index) noexcept {
  if (detail::parts_used.load(std::memory_order_acquire) > index) return true;
  const LibraryGuard guard;
  std::size_t used = detail::parts_used.load(std::memory_order_relaxed);
  for (; used <= index; ++used) {
    if (!show_part(used)) return false;
    detail::parts_used.store(used + 1, std::memory_order_release);
  }
  return true;
}

Part& take(std::size_t below) noexcept {
  for (std::size_t i = 1; i < below; ++i) {
    if (taken[i].load(std::memory_order_relaxed) || taken[i].exchange(true, std::memory_order_acquire)) continue;
    if (use_up_to(i)) return parts.part[i];
    taken[i].store(false, std::memory_order_release);
    break;
  }
  Part* const apart = new (std::nothrow) Part{};
  return apart != nullptr ? *apart : parts.part[0];
}

// Adds the counts of a part that no other process sees.
void add_to_first(Part& from) noexcept {
  if (!use_up_to(0)) return;
  const LibraryGuard guard;
  Part& to = parts.part[0];
  const auto add = [](auto& sum, const auto& of) {
    auto* const at = reinterpret_cast<Value*>(&sum);
    const auto* const by = reinterpret_cast<const Value*>(&of);
    constexpr std::size_t kBytes = sizeof sum;
    for (std::size_t i = 0; i < kBytes / sizeof(Value); ++i) add_to(at[i], by[i]);
  };
  const auto most = [](Value& highest, Value of) { set(highest, std::max(highest, of)); };
  add(to.waits, from.waits);
  add(to.waited, from.waited);
  most(to.longest_wait, from.longest_wait);
  most(to.posted.most, from.posted.most);
  most(to.unexpected.most, from.unexpected.most);
  most(to.unexpected_bytes.most, from.unexpected_bytes.most);
  add(to.unexpected_messages, from.unexpected_messages);
  add(to.rendezvous, from.rendezvous);
  add(to.received, from.received);
  add(to.sizes, from.sizes);
  add(to.statistics, from.statistics);
  add(to.functions, from.functions);
  add(to.waited_in, from.waited_in);
  add(to.accesses, from.accesses);
  add(to.peers, from.peers);
}

// Gives the part of a thread back when the thread ends.
struct Lease {
  Part* part = nullptr;
  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (part == nullptr) return;
    detail::own = nullptr;
    set(part->now.function, 0);
    give_back(*part);
    threads.fetch_sub(1, std::memory_order_relaxed);
  }
};

}  // namespace

Part& take_part() noexcept { return take(kParts); }

void give_back(Part& part) noexcept {
  if (is_shared(part)) {
    if (&part != &parts.part[0]) taken[&part - parts.part].store(false, std::memory_order_release);
    return;
  }
  add_to_first(part);
  delete &part;
}

int threads_with_parts() noexcept { return threads.load(std::memory_order_relaxed); }

Part& take_own_part() noexcept {
  thread_local Lease lease;
  if (lease.part == nullptr) threads.fetch_add(1, std::memory_order_relaxed);
  // A thread that calls MPI after the destructors of its thread-local objects keeps the part.
  lease.part = detail::own = &take(kParts - kPartsOfChannels);
  return *lease.part;
}

bool begin_wait(Part& of_thread, int process) noexcept { return begin_wait_in(of_thread, of_thread.place, process); }

void end_wait(Part& of_thread, int process) noexcept {
  const Value waited = end_wait_in(of_thread, of_thread.place);
  const std::size_t row = find_row(process);
  if (row != kPeers) count_wait(of_thread.peers[row], waited);
}

void begin_timing(Part& part, std::size_t place) noexcept { begin_timing_in(part, place); }
// The place of a function is also the number of its row of durations.
void end_timing(Part& part) noexcept { end_timing_in(part, part.timed); }

}  // namespace hr::counters

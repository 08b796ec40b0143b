// ReaderDistance: decides whether data that this process writes for another one is written with non-temporal stores.
//
// The distance of their cores decides. A line that is written with plain stores is transferred twice between the two
// cores' caches, from its last reader to the writer and back; with non-temporal stores it is transferred once, from
// memory. So the reader is considered far if two transfers between the caches take longer than one from memory. The
// system's tables do not show this (virtual machines report one cache for all cores, and move the cores), so it is
// measured. From time to time this process times a load that it makes anyway: the load of a word that the reader has
// written since the previous load, and so has in its cache. Once per process it times a load from memory. A firm
// decision changes only after two loads in a row that agree, as a process may lose its core during one.
//
// Measured on AMD processors only, and only if the knob shm_nontemporal_stores does not decide: Intel processors gain
// nothing from such stores. Owner: the writer (a ring's producer; the shared segment of a communicator). Threads:
// library lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace hr {

class ReaderDistance {
 public:
  [[nodiscard]] bool is_far() const noexcept { return far_ > kMost / 2; }

  // Counts a write long enough for non-temporal stores.
  void count() noexcept {
    if (until_ != 0) --until_;
  }
  // True after enough writes: the next load() is timed.
  [[nodiscard]] bool is_due() const noexcept { return until_ == 0; }

  // Loads (acquire) a word that the reader writes, and times the load if that is due. `seen`: the value when this
  // process last loaded it or another word of its line. If it has not changed, the line was in this core's cache, and
  // the time is ignored.
  std::uint64_t load(const std::atomic<std::uint64_t>& word, std::uint64_t seen) noexcept {
    if (!is_due()) [[likely]]
      return word.load(std::memory_order_acquire);
    return timed_load(word, seen);
  }

  // Updates the decision. `from_reader`: ticks that loading a line from the reader's cache took; `from_memory`: ticks
  // for a line from memory. Neither includes the time of a load from the nearest cache.
  void learn(std::uint64_t from_reader, std::uint64_t from_memory) noexcept;

 private:
  static constexpr int kMost = 3;
  std::uint64_t timed_load(const std::atomic<std::uint64_t>& word, std::uint64_t seen) noexcept;

  std::uint32_t until_ = 0;
  int far_ = kMost / 2;  // 0 to kMost: near, probably near, probably far, far
};

}  // namespace hr

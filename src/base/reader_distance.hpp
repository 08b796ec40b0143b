// ReaderDistance: decides if writes of this process for another one should be non-temporal stores.
//
// The distance of their cores decides. A line that is written the usual way passes twice between the two cores'
// caches, from its last reader to the writer and back; with non-temporal stores it comes once, from memory. So the
// reader counts as far if two transfers between the caches take longer than one from memory. No table says so (virtual
// machines report one cache for all cores, and move the cores), so it is measured: from time to time this process times
// a load that it makes anyway, of a word that the reader has written since and so has in its cache; and once in a
// process it times a line from memory. A decision changes only after two loads in a row that agree, as a process may
// lose its core during one.
//
// Measured on AMD processors only, unless the knob shm_nontemporal_stores decides: Intel's gain nothing by such stores.
// Owner: the writer (a ring's producer; the area of a communicator). Threads: library lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace hr {

class ReaderDistance {
 public:
  [[nodiscard]] bool is_far() const noexcept { return far_ > kMost / 2; }

  // Counts a write that is long enough to go either way.
  void count() noexcept {
    if (until_ != 0) --until_;
  }
  // True after enough of them: the next load() gives new information.
  [[nodiscard]] bool is_due() const noexcept { return until_ == 0; }

  // Loads (acquire) a word that the reader writes, timed if that is due. `seen`: the value when this process last
  // loaded it or another word of its line. If that has not changed, the line is still here, and tells nothing.
  std::uint64_t load(const std::atomic<std::uint64_t>& word, std::uint64_t seen) noexcept {
    if (!is_due()) [[likely]]
      return word.load(std::memory_order_acquire);
    return timed_load(word, seen);
  }

  // Learns from the ticks that a line took from the reader's cache and that one takes from memory (both in addition to
  // a load from the nearest cache).
  void learn(std::uint64_t from_reader, std::uint64_t from_memory) noexcept;

 private:
  static constexpr int kMost = 3;
  std::uint64_t timed_load(const std::atomic<std::uint64_t>& word, std::uint64_t seen) noexcept;

  std::uint32_t until_ = 0;
  int far_ = kMost / 2;  // 0 to kMost: near, probably near, probably far, far
};

}  // namespace hr

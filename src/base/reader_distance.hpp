// ReaderDistance: whether what this process writes for another one had better go with non-temporal stores.
//
// That depends on how far apart their cores are. A line that is written the usual way passes twice between the two
// cores' caches, from its last reader to the writer and back; with non-temporal stores it comes once, from memory. So
// the reader is far where twice the one takes longer than the other. No table tells it (virtual machines say that all
// cores share a cache, and move them meanwhile), so it is measured: from time to time this process times a load, which
// it does anyway, of a word that the reader has written since, and so has in its cache; and once in a process what a
// line takes from memory. Two loads in a row say the same before a decision turns over: a process may lose its core in
// one.
//
// Measured on AMD processors alone, knob shm_nontemporal_stores aside: Intel's gain nothing by such stores.
// Owner: who writes (a ring's producer; the area of a communicator). Threads: library lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace hr {

class ReaderDistance {
 public:
  [[nodiscard]] bool is_far() const noexcept { return far_ > kMost / 2; }

  // Something long enough to go either way is written.
  void count() noexcept {
    if (until_ != 0) --until_;
  }
  // After this many of them: the next load() says something new.
  [[nodiscard]] bool is_due() const noexcept { return until_ == 0; }

  // Acquire load of a word that the reader writes, timed where one is due. `seen`: what was there when this process
  // last loaded it or another word of its line. Where that has not changed, the line is still here, and tells nothing.
  std::uint64_t load(const std::atomic<std::uint64_t>& word, std::uint64_t seen) noexcept {
    if (!is_due()) [[likely]]
      return word.load(std::memory_order_acquire);
    return timed_load(word, seen);
  }

  // A line took so many ticks from the reader's cache, where one takes `from_memory` from memory (both beyond what a
  // load from the nearest cache takes).
  void learn(std::uint64_t from_reader, std::uint64_t from_memory) noexcept;

 private:
  static constexpr int kMost = 3;
  std::uint64_t timed_load(const std::atomic<std::uint64_t>& word, std::uint64_t seen) noexcept;

  std::uint32_t until_ = 0;
  int far_ = kMost / 2;  // 0 to kMost: near, probably near, probably far, far
};

}  // namespace hr

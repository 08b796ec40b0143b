// Claims: lets two processes share one long copy without waiting for each other.
//
// The copy is divided into granules. A word in memory that both can access counts the claimed granules. The receiver
// claims from the front, the sender from the back. Each claims up to half of the remainder at a time, so that their
// speeds decide where they meet. A remainder too small to be worth two system calls is assigned to one of them. A
// process that is busy elsewhere claims nothing and delays nothing.
//
// The word: generation (32 bits) | granules claimed (32). A process that tries to claim a part of a finished copy,
// whose word is in use for the next one, finds another generation and claims nothing.
// Owner: the receiver lends a word that it owns to one copy at a time. Memory order: relaxed; claims only divide the
// copy, while messages announce that a part is complete. Threads: library lock in each process; the word is changed
// with compare-exchange.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hr::p2p {

class Claims {
 public:
  static constexpr std::size_t kGranule = 8192;
  static constexpr std::uint32_t kMost = 64;          // maximum granules per claim; limits the wait for a part in
                                                      // progress
  static constexpr std::uint32_t kWorthHalving = 16;  // after the first claim, fewer remaining granules than this are
                                                      // claimed as a whole

  Claims() noexcept = default;  // empty
  Claims(std::atomic<std::uint64_t>& word, std::uint32_t generation, std::size_t bytes) noexcept
      : word_(&word), generation_(generation), bytes_(bytes), granules_(granules_of(bytes)) {}

  static std::uint32_t granules_of(std::size_t bytes) noexcept {
    return static_cast<std::uint32_t>((bytes + kGranule - 1) / kGranule);
  }
  // Resets the word. Called by the owner, before any other process learns of the copy.
  void open() noexcept { word_->store(std::uint64_t{generation_} << 32, std::memory_order_relaxed); }

  struct Part {
    std::size_t begin = 0;
    std::size_t bytes = 0;  // 0: nothing is left
  };
  Part from_front() noexcept {
    const std::uint32_t claimed = claim();
    const std::size_t begin = own_ * kGranule;
    own_ += claimed;
    return {begin, std::min(own_ * kGranule, bytes_) - std::min(begin, bytes_)};
  }
  Part from_back() noexcept {
    const std::uint32_t claimed = claim();
    const std::size_t end = std::min((granules_ - own_) * kGranule, bytes_);
    own_ += claimed;
    return {claimed == 0 ? end : (granules_ - own_) * kGranule, claimed == 0 ? 0 : end - (granules_ - own_) * kGranule};
  }

  // True if this side has claimed a part.
  [[nodiscard]] bool claimed() const noexcept { return own_ != 0; }
  // Bytes that this side has claimed. Once a claim has found nothing left, the rest belongs to the other side.
  [[nodiscard]] std::size_t front_bytes() const noexcept { return std::min(own_ * kGranule, bytes_); }
  [[nodiscard]] std::size_t back_bytes() const noexcept {
    return bytes_ - std::min((granules_ - own_) * kGranule, bytes_);
  }

 private:
  std::uint32_t claim() noexcept {
    std::uint64_t seen = word_->load(std::memory_order_relaxed);
    for (;;) {
      const auto claimed = static_cast<std::uint32_t>(seen);
      if (seen >> 32 != generation_ || claimed >= granules_) return 0;
      const std::uint32_t left = granules_ - claimed;
      const bool halves = left >= kWorthHalving || (claimed == 0 && left > 1);
      const std::uint32_t wanted = std::min(halves ? left / 2 : left, kMost);
      if (word_->compare_exchange_weak(seen, seen + wanted, std::memory_order_relaxed)) return wanted;
    }
  }

  std::atomic<std::uint64_t>* word_ = nullptr;
  std::uint32_t generation_ = 0;
  std::size_t bytes_ = 0;
  std::uint32_t granules_ = 0;
  std::size_t own_ = 0;  // granules claimed by this side
};

}  // namespace hr::p2p

#include "base/reader_distance.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/cache_hints.hpp"
#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/machine.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hr {
namespace {

// Number of writes between two timed loads once the decision is firm. Timed loads are rare, because a load from a
// distant cache is slow.
constexpr std::uint32_t kBetween = 32;
constexpr std::uint32_t kForever = std::numeric_limits<std::uint32_t>::max();

#if defined(__x86_64__)

template <class Load>
std::uint64_t ticks_of(Load load) noexcept {
  _mm_lfence();
  const std::uint64_t start = ticks();
  _mm_lfence();
  load();
  _mm_lfence();
  return ticks() - start;
}

// Times of loads, in ticks.
struct Loads {
  std::uint64_t from_cache;   // time of a load from the nearest cache: mostly the cost of reading the clock
  std::uint64_t from_memory;  // in addition to from_cache
};

// Uses medians, as some loads are delayed by a memory refresh or an interrupt.
Loads measure_loads() noexcept {
  struct alignas(2 * kCacheLine) Line {
    std::atomic<std::uint64_t> word{0};
  };
  constexpr std::size_t kLines = 17;
  std::array<Line, kLines> lines;
  std::array<std::uint64_t, kLines> near{};
  std::array<std::uint64_t, kLines> far{};
  for (std::size_t i = 0; i < kLines; ++i) {
    const auto load = [&] { static_cast<void>(lines[i].word.load(std::memory_order_relaxed)); };
    lines[i].word.store(i, std::memory_order_relaxed);
    _mm_clflush(&lines[i]);
    _mm_mfence();
    far[i] = ticks_of(load);
    near[i] = ticks_of(load);
  }
  const auto median = [](std::array<std::uint64_t, kLines>& all) {
    std::nth_element(all.begin(), all.begin() + kLines / 2, all.end());
    return all[kLines / 2];
  };
  const std::uint64_t from_cache = median(near);
  return {from_cache, std::max(median(far), from_cache) - from_cache};
}

#endif

}  // namespace

void ReaderDistance::learn(std::uint64_t from_reader, std::uint64_t from_memory) noexcept {
  far_ = std::clamp(far_ + (2 * from_reader > from_memory ? 1 : -1), 0, kMost);
  until_ = far_ == 0 || far_ == kMost ? kBetween : 0;
}

std::uint64_t ReaderDistance::timed_load(const std::atomic<std::uint64_t>& word, std::uint64_t seen) noexcept {
#if defined(__x86_64__)
  const ShmNontemporalStoresChoice choice = knobs().shm_nontemporal_stores;
  if (choice == ShmNontemporalStoresChoice::kAuto && is_amd()) {
    static const Loads loads = measure_loads();
    std::uint64_t value = 0;
    const std::uint64_t took = ticks_of([&] { value = word.load(std::memory_order_acquire); });
    if (value != seen) learn(std::max(took, loads.from_cache) - loads.from_cache, loads.from_memory);
    return value;
  }
  far_ = choice == ShmNontemporalStoresChoice::kOn ? kMost : 0;
#else
  static_cast<void>(seen);
  far_ = 0;
#endif
  until_ = kForever;
  return word.load(std::memory_order_acquire);
}

}  // namespace hr

// Finds the row of an algorithm in the counters (base/counters.hpp), which is its index in the list of all algorithms.
//
// Records of algorithms are constants, so their addresses determine their indices. Owner: State. Threads: library
// lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counters.hpp"
#include "coll/algorithm.hpp"

namespace hr::coll {

class AlgorithmIndexes {
 public:
  AlgorithmIndexes();
  void count(const Algorithm* algorithm, Operation operation, std::size_t bytes) const noexcept {
    counters::count_operation(static_cast<std::size_t>(operation), bytes);
    std::size_t at = first_of(algorithm);
    while (entries_[at].algorithm != algorithm) at = (at + 1) % kEntries;
    counters::page.algorithms[entries_[at].index].add(bytes);
  }

 private:
  struct Entry {
    const Algorithm* algorithm = nullptr;
    std::size_t index = 0;
  };
  static constexpr std::size_t kEntries = 2 * counters::kAlgorithms;
  static std::size_t first_of(const Algorithm* algorithm) noexcept {
    return (reinterpret_cast<std::uintptr_t>(algorithm) / alignof(Algorithm) * 0x9e3779b97f4a7c15ULL >> 32) % kEntries;
  }

  std::array<Entry, kEntries> entries_;
};

// Returns names such as "barrier_cells", in the order of algorithms().
[[nodiscard]] std::span<const char* const> algorithm_names() noexcept;

}  // namespace hr::coll

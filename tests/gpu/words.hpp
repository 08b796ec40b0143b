// Vectors of words whose sums over ranks are known, for tests of reductions in device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hr::test {

using Word = std::uint32_t;
using Words = std::vector<Word>;

inline constexpr Word kPoison = 0xdeadbeef;

// Returns element `i` of the contribution of a rank.
inline Word value(int rank, std::size_t i) {
  return static_cast<Word>(i) * 2654435761U + static_cast<Word>(rank) * 40503U;
}

// Returns elements [from, from + count) of the sum of the contributions of the ranks [first, last).
inline Words sum(int first, int last, std::size_t from, std::size_t count) {
  Words made(count, 0);
  for (int rank = first; rank < last; ++rank) {
    for (std::size_t i = 0; i < count; ++i) made[i] += value(rank, from + i);
  }
  return made;
}

}  // namespace hr::test

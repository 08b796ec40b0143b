// Partners in recursive doubling. The number of positions is a power of two, and the positions of partners differ in
// one bit. If the number of processes is not a power of two, the first processes form pairs, and the odd process of
// each pair continues for both.
//
// Owner: plain values. Threads: any.
#pragma once

#include <bit>

namespace hr::coll {

struct Doubling {
  int power;
  int paired;  // number of processes in pairs
  explicit constexpr Doubling(int size) noexcept
      : power(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))), paired(2 * (size - power)) {}
  // Returns the position of a process that takes part in the exchanges.
  [[nodiscard]] constexpr int position(int rank) const noexcept { return rank < paired ? rank / 2 : rank - paired / 2; }
  [[nodiscard]] constexpr int rank_at(int position) const noexcept {
    return position < paired / 2 ? 2 * position + 1 : position + paired / 2;
  }
};

}  // namespace hr::coll

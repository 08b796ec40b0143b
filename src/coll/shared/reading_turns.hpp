// Reading turns: whether it pays, in this program, that processes read one another's buffers.
//
// readable.hpp measures copies. What a program pays is more: where data was read away, its own stores must fetch the
// lines back from the readers, and where it is new the readers fetch each line out of the writer's hands. So buffers
// that nobody touches between two operations, as in a benchmark, are read up to twice as fast as they go through slots,
// and others up to four times more slowly. What counts is the turn: from one operation to the next one of its kind and
// length (a power of two).
//
// Each kind of operation goes without reading for some turns, then by reading for as many, and once more, in which all
// tell one another what they found (conclude(), direct.hpp). The majority decides. After so many operations it is tried
// again, after four times as many once more, and so on; until it was tried, and where turns are as long either way,
// nobody reads. All members count the operations alike; what they have measured differs, and is told.
// Owner: the area. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/call.hpp"

namespace hr::coll::shared {

class ReadingTurns {
 public:
  // Called by every member in its turn of every operation that might read, `now` in ticks(); the same answer when asked
  // again.
  [[nodiscard]] bool reads(Operation operation, std::size_t bytes, std::uint64_t ticket, std::uint64_t now) noexcept;
  // For conclude(): what this process has found, and what all have. Nothing changes but in the operation that decides.
  [[nodiscard]] bool votes(Operation operation, std::size_t bytes) noexcept;
  void decide(Operation operation, std::size_t bytes, bool read) noexcept;

 private:
  struct Kind {
    Operation operation;
    int length;                   // bits of the number of bytes
    std::uint64_t next = 0;       // ticket that was answered, plus one
    std::uint64_t position = 0;   // operations since the trials began
    std::uint64_t again;          // they begin anew then
    std::uint64_t began = 0;      // ticks at which the last operation began its turn
    std::uint64_t least[2] = {};  // ticks of a turn: without reading, by reading
    bool reads = false;           // decided
    bool answer = false;          // to the last operation
  };

  Kind& kind_of(Operation operation, std::size_t bytes) noexcept;

  std::vector<Kind> kinds_;  // those that came up
};

}  // namespace hr::coll::shared

// Reading turns: whether it pays, in this program, that processes read one another's buffers.
//
// readable.hpp measures copies. What a program pays is more: data that was read stays in the reader's cache, and the
// owner's next stores fetch the lines back; new data comes line by line out of the writer's cache. So buffers that
// nobody touches between two operations, as in a benchmark, are read up to twice as fast as they go through slots, and
// others take up to two and a half times as long. What counts is the turn: from one operation to the next one of its
// kind and length (a power of two).
//
// Each kind goes n turns without reading, then n turns by reading, and reads once more: in that operation all tell one
// another what they found (conclude(), direct.hpp), and the majority decides for the next ones. The trials begin anew
// with the 512th operation, then after 2048, 8192, ... more. Until it was tried nobody reads, nor where reading saves
// less than a thirtieth of a turn, be it that the program computes for long in between. n is 8, of long operations 3.
//
// All members count the operations alike, since they carry out the same ones in the same order; what they have measured
// differs, and is told. (A program whose members pass different lengths to one operation is wrong, and may see that
// later ones do not meet any more.)
// Owner: the area, so that each communicator learns for itself. Threads: library lock.
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
  [[nodiscard]] bool reads(Operation operation, std::size_t bytes, std::uint64_t ticket, std::uint64_t now);
  // For conclude(): what this process has found, and what all have; heeded in the operation that decides, once.
  [[nodiscard]] bool votes(Operation operation, std::size_t bytes);
  void decide(Operation operation, std::size_t bytes, bool read);

 private:
  struct Kind {
    Operation operation;
    int length;                   // bits of the number of bytes
    std::uint64_t next = 0;       // ticket that was answered, plus one
    std::uint64_t position = 0;   // operations since the trials began
    std::uint64_t again;          // they begin anew then
    std::uint64_t began = 0;      // ticks at which the last operation began its turn
    std::uint64_t least[2] = {};  // ticks of a turn: without reading, by reading
    bool reads = false;           // what was decided
    bool decided = false;         // in these trials
  };

  Kind& kind_of(Operation operation, std::size_t bytes);
  static void begin_turn(Kind& kind, std::uint64_t now);

  std::vector<Kind> kinds_;  // those that came up
};

}  // namespace hr::coll::shared

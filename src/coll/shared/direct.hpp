// Direct: processes read one another's buffers (p2p/peer_memory.hpp), one copy instead of two.
//
// Every process tells in its cell where its buffers lie, zero for what cannot be read as one run of host memory. Where
// somebody's cannot, all go through slots instead: all see the same cells. Memory that a driver mapped may look
// readable and not be; so everybody says how its reading went (conclude()), and if it failed anywhere all go through
// slots after all. Where that may be worth it, rows say by Query::reading; where it is, in this program, is found out
// by doing (reading_turns.hpp).
//
// An operation's file says what it exposes and what it reads, and leaves the rest to read_or_else(); reductions, which
// read twice, to reduce_by_reading() (reduce_direct.hpp).
#pragma once

#include "coll/messages.hpp"
#include "coll/shared/cells.hpp"
#include "coll/shared/steps.hpp"

namespace hr::coll::shared {

// Slots are the way out, so they must be there.
[[nodiscard]] constexpr bool can_read(const Query& query) noexcept {
  return has_slots(query) && query.reading >= Reading::kPossible;
}

// The record of an operation's algorithm of this kind.
[[nodiscard]] constexpr Algorithm direct(Operation operation, Task (*run)(const Call&),
                                         bool (*probe)(const Query&) noexcept = &can_read) noexcept {
  return {.name = "direct",
          .operations = serves(operation),
          .probe = probe,
          .run = run,
          .needs = Sharing::kSlots,
          .reads = true};
}

struct Exposed {
  std::uint64_t send;  // address of the data; 0: not readable
  std::uint64_t recv;
  std::uint64_t bytes;  // of what others may read at the first address
};

[[nodiscard]] inline std::uint64_t readable_address(const View& view) noexcept {
  return view.contiguous && view.where.is_host() && !view.where.pinned ? reinterpret_cast<std::uint64_t>(view.data())
                                                                       : 0;
}

// Makes it this process's cell. CellFree holds.
void expose(const Call& call, const Exposed& own);
// What another process has exposed; its cell has arrived.
[[nodiscard]] Exposed exposed_by(const Call& call, int rank);
// Everybody's data at the first address, and with `recv` at the second, can be read.
[[nodiscard]] bool all_readable(const Call& call, bool recv);

// Reads to.packed bytes at an address in another process into a view of any kind.
[[nodiscard]] Status read_from(const Call& call, int rank, std::uint64_t address, const View& to);
// From every other process, block `block` of what it has exposed.
// Errors: MPI_ERR_TRUNCATE when a block is not as long as this process's.
[[nodiscard]] Status read_blocks(const Call& call, int block);

// How reading went: told to all with step 1 of `word`; *everywhere is true when nobody's failed. Nobody reads from this
// process for that step any more then. An error that is not the system's refusal to read is returned.
[[nodiscard]] Task conclude(const Call& call, const Steps& steps, Word Control::* word, Status status,
                            bool* everywhere);

// An operation that reads once. This process's own block goes from call.send to call.recv while others arrive.
struct ByReading {
  Exposed own;                                  // what others may read of this process, or of the root
  Status (*read)(const Call& call, int block);  // what it needs of others, which have exposed theirs
  const Algorithm& otherwise;                   // what all do where somebody cannot be read
  int block = 0;                                // of what each exposes, the one for this process
  bool from_root = false;                       // only the root's is read
};
[[nodiscard]] Task read_or_else(const Call& call, ByReading how);

}  // namespace hr::coll::shared

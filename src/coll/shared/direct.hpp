// Direct: processes read one another's buffers (p2p/peer_memory.hpp), one copy instead of two.
//
// Every process tells in its cell where its buffers lie, zero for what cannot be read as one run of host memory. Where
// somebody's cannot, all go through slots instead: all see the same cells. Memory that a driver mapped may look
// readable and not be; so everybody says how its reading went (conclude()), and if it failed anywhere all go through
// slots after all. Where that may be worth it, rows say by Query::reading; where it is, in this program, is found out
// by doing (reading_turns.hpp).
#pragma once

#include "coll/messages.hpp"
#include "coll/shared/cells.hpp"
#include "coll/shared/steps.hpp"

namespace hr::coll::shared {

// Slots are the way out, so they must be there.
[[nodiscard]] constexpr bool can_read(const Query& query) noexcept {
  return has_slots(query) && query.reading >= Reading::kPossible;
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

// How reading went: told to all with step 1 of `word`; *everywhere is true when nobody's failed. Nobody reads from this
// process for that step any more then. An error that is not the system's refusal to read is returned.
[[nodiscard]] Task conclude(const Call& call, const Steps& steps, Word Control::* word, Status status,
                            bool* everywhere);

}  // namespace hr::coll::shared

// Places: the space next to a process's flag lines, divided into one place of equal size for each member, for blocks
// whose lengths only their two ends know (scatterv, alltoallv, alltoallw).
//
// A place begins with the length of its block. A block that does not fit into its place is sent as a message: its
// length tells the receiver that it is not here.
//
// Owner: a local of the coroutine; the memory is the segment's. FlagLinesFree must hold before put(), and the member's
// flag must have arrived before its lengths and blocks are read; both only in the operation's turn. Threads: library
// lock.
#pragma once

#include <cstddef>
#include <cstring>

#include "coll/shared/flag_lines.hpp"

namespace hr::coll::shared {

class Places {
 public:
  explicit Places(const Call& call) noexcept
      : call_(call), bytes_(kRoomBytes / static_cast<std::size_t>(call.size()) / kCacheLine * kCacheLine) {}

  [[nodiscard]] static bool probe(const Query& query) noexcept {
    return has_flag_lines(query) && !query.in_place && static_cast<std::size_t>(query.ranks) <= kRoomBytes / kCacheLine;
  }

  [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return sizeof(Length) + bytes <= bytes_; }

  // Packs block `member` of the buffer into the member's place. Only writes its length if it does not fit.
  [[nodiscard]] Status put(const Blocks& blocks, int member) const {
    std::byte* place = place_of(call_.rank(), member);
    const Length length = blocks.bytes(member);
    std::memcpy(place, &length, sizeof length);
    if (length == 0 || !fits(length)) return kOk;
    View block;
    HR_TRY(blocks.block(member, &block));
    return layout::pack(block, 0, length, place + sizeof length);
  }

  // Returns the length of the block that a member has for this process.
  [[nodiscard]] std::size_t length_from(int member) const noexcept {
    Length length = 0;
    std::memcpy(&length, place_of(member, call_.rank()), sizeof length);
    return length;
  }

  // Unpacks the block that a member has for this process, which must fit, into block `at` of the buffer, which may be
  // longer.
  [[nodiscard]] Status take(int member, const Blocks& blocks, int at) const {
    const std::size_t length = length_from(member);
    if (length > blocks.bytes(at)) return expect_bytes(call_, member, length, blocks.bytes(at));
    if (length == 0) return kOk;
    View block;
    HR_TRY(blocks.block(at, &block));
    return layout::unpack(block, 0, length, place_of(member, call_.rank()) + sizeof(Length));
  }

 private:
  using Length = std::uint64_t;

  [[nodiscard]] std::byte* place_of(int from, int to) const noexcept {
    return flag_lines_of(call_, from).room + static_cast<std::size_t>(to) * bytes_;
  }

  const Call& call_;
  std::size_t bytes_;  // size of a place
};

}  // namespace hr::coll::shared

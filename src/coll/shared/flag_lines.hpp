// Functions that publish and read the flag lines of an operation, and the data next to them. See segment.hpp.
#pragma once

#include "coll/messages.hpp"
#include "coll/shared/wait.hpp"

namespace hr::coll::shared {

// Returns this process's flag lines of the operation; FlagLinesFree must hold before they are written.
[[nodiscard]] inline FlagLines& own_flag_lines(const Call& call) noexcept {
  return call.segment->flag_lines(call.rank(), call.sequence_number, swaps(call));
}
// Returns another member's flag lines; its flag must have arrived.
[[nodiscard]] inline FlagLines& flag_lines_of(const Call& call, int rank) noexcept {
  return call.segment->flag_lines(rank, call.sequence_number, swaps(call));
}

// Raises the flag: the data is complete, and all members may read it. `own`: own_flag_lines().
inline void publish(const Call& call, FlagLines& own) noexcept {
  own.head.sequence.store(call.sequence_number + 1, std::memory_order_release);
}
inline void publish(const Call& call, std::size_t bytes) noexcept {
  FlagLines& own = own_flag_lines(call);
  own.head.bytes = bytes;
  publish(call, own);
}

// publish() for data in FlagLines::room: demotes the data's cache lines for the readers, and prefetches the lines for
// the next operation, whose data is likely to be as long.
void publish_and_demote(const Call& call, FlagLines& own, std::size_t bytes) noexcept;
inline void publish_data(const Call& call, FlagLines& own, std::size_t bytes) noexcept {
  own.head.bytes = bytes;
  if (bytes <= kInlineBytes) {
    publish(call, own);
  } else {
    publish_and_demote(call, own, bytes);
  }
}

// Packs a view into this process's flag lines and publishes it.
[[nodiscard]] inline Status publish_packed(const Call& call, const View& data) {
  FlagLines& own = own_flag_lines(call);
  HR_TRY(layout::pack(data, 0, data.packed, own.data(data.packed)));
  publish_data(call, own, data.packed);
  return kOk;
}

// Checks the length of the data that a member has published for this process.
[[nodiscard]] inline Status expect_bytes(const Call& call, int rank, std::uint64_t given, std::size_t expected) {
  if (given == expected) [[likely]]
    return kOk;
  return fail(Errc::kTruncate, "%s: rank %d gave %llu bytes where this process expects %zu", name(call.operation), rank,
              static_cast<unsigned long long>(given), expected);
}

// Unpacks part of a member's published data into a view. `bytes`: length of all that data; `offset`: start of the part.
[[nodiscard]] inline Status take_part(const Call& call, int rank, std::size_t bytes, std::size_t offset,
                                      const View& data) {
  FlagLines& lines = flag_lines_of(call, rank);
  HR_TRY(expect_bytes(call, rank, lines.head.bytes, bytes));
  return layout::unpack(data, 0, data.packed, lines.data(bytes) + offset);
}

// Unpacks the packed form that a member published, into a view that may be longer.
[[nodiscard]] inline Status take_at_most(const Call& call, int rank, const View& data) {
  FlagLines& lines = flag_lines_of(call, rank);
  const std::uint64_t given = lines.head.bytes;
  if (given > data.packed) return expect_bytes(call, rank, given, data.packed);
  return layout::unpack(data, 0, given, lines.data(given));
}

// Unpacks the packed form that a member published, into a view of the same size.
[[nodiscard]] inline Status take_packed(const Call& call, int rank, const View& data) {
  return take_part(call, rank, data.packed, 0, data);
}

// Unpacks the published data of each other member into its block of the receive buffer; all flags must have arrived.
Status take_blocks(const Call& call);

// True if the blocks of all processes fit into FlagLines::room of one process.
[[nodiscard]] inline bool blocks_fit(const Query& query) noexcept {
  return has_flag_lines(query) && (query.bytes + 1) * static_cast<std::size_t>(query.ranks) <= kRoomBytes;
}

}  // namespace hr::coll::shared

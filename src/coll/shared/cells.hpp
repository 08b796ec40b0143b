// Cells of an operation: publishes data in them and takes it from them. See area.hpp.
#pragma once

#include "coll/messages.hpp"
#include "coll/shared/wait.hpp"

namespace hr::coll::shared {

// This process's cell of the operation; CellFree holds.
[[nodiscard]] inline Cell& own_cell(const Call& call) noexcept {
  return call.area->cell(call.rank(), call.ticket, swaps(call));
}
// Another member's cell; it has arrived.
[[nodiscard]] inline Cell& cell_of(const Call& call, int rank) noexcept {
  return call.area->cell(rank, call.ticket, swaps(call));
}

// Lets all members read the cell, which is filled in.
inline void publish(const Call& call) noexcept {
  own_cell(call).head.sequence.store(call.ticket + 1, std::memory_order_release);
}
inline void publish(const Call& call, std::size_t bytes) noexcept {
  own_cell(call).head.bytes = bytes;
  publish(call);
}

// Does the same for data that does not lie beside the flag: its lines are handed over, and those of the next
// operation's cell, which are likely to be as many, come back while others read this one.
void publish_and_demote(const Call& call, std::size_t bytes) noexcept;
inline void publish_data(const Call& call, std::size_t bytes) noexcept {
  own_cell(call).head.bytes = bytes;
  if (bytes <= kInlineBytes) {
    publish(call);
  } else {
    publish_and_demote(call, bytes);
  }
}

// Packs a view into the own cell and publishes it.
[[nodiscard]] inline Status publish_packed(const Call& call, const View& data) {
  HR_TRY(layout::pack(data, 0, data.packed, own_cell(call).data(data.packed)));
  publish_data(call, data.packed);
  return kOk;
}

// Unpacks into a view the data that a member published, `bytes` long there, from `offset` on.
[[nodiscard]] inline Status take_part(const Call& call, int rank, std::size_t bytes, std::size_t offset,
                                      const View& data) {
  Cell& cell = cell_of(call, rank);
  if (cell.head.bytes != bytes) [[unlikely]] {
    return fail(Errc::kTruncate, "%s: rank %d gave %llu bytes where this process expects %zu", name(call.operation),
                rank, static_cast<unsigned long long>(cell.head.bytes), bytes);
  }
  return layout::unpack(data, 0, data.packed, cell.data(bytes) + offset);
}

// Unpacks the packed form that a member published, into a view of the same size.
[[nodiscard]] inline Status take_packed(const Call& call, int rank, const View& data) {
  return take_part(call, rank, data.packed, 0, data);
}

// Unpacks the data that all others published into their blocks of the receive buffer; they have arrived.
Status take_blocks(const Call& call);

// True if the blocks of all processes fit one cell.
[[nodiscard]] inline bool blocks_fit(const Query& query) noexcept {
  return has_cells(query) && (query.bytes + 1) * static_cast<std::size_t>(query.ranks) <= kCellBytes;
}

}  // namespace hr::coll::shared

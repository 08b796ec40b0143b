// Alltoall through slots: in each round everybody writes a piece for everybody, one after the other, into its slot and
// takes its own from everybody's.
#include "coll/shared/slots.hpp"

#include "coll/registry.hpp"
#include "coll/shared/copy.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const Blocks& blocks = call.in_place ? call.recv : call.send;
  const std::size_t part = call.area->slot_bytes() / static_cast<std::size_t>(size) / shared::kLine * shared::kLine;
  const shared::Rounds rounds(call, shared::rounds_of(call.bytes, part));
  HR_CO_TRY(copy_block(call.send, rank, call.recv, rank));
  View block;
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    const shared::Piece piece = shared::piece_of(call.bytes, part, round);
    shared::Rounds::Writable writable = rounds.writable(round);
    HR_CO_UNTIL(call, writable);
    for (int step = 1; step < size; ++step) {
      const int to = (rank + step) % size;
      HR_CO_TRY(blocks.block(to, &block));
      HR_CO_TRY(shared::pack_in(block, piece.begin, piece.bytes,
                                rounds.slot(rank, round) + static_cast<std::size_t>(to) * part));
    }
    rounds.wrote(round + 1);
    for (int step = 1; step < size; ++step) {
      const int from = (rank - step + size) % size;
      shared::StepReached written = rounds.written(from, round + 1);
      HR_CO_UNTIL(call, written);
      HR_CO_TRY(call.recv.block(from, &block));
      HR_CO_TRY(layout::unpack(block, piece.begin, piece.bytes,
                               rounds.slot(from, round) + static_cast<std::size_t>(rank) * part));
    }
    rounds.took(round + 1);
  }
  co_return kOk;
}

}  // namespace

const Algorithm alltoall_slots = {"slots", serves(Operation::kAlltoall), &has_wide_slots, &run, Sharing::kSlots};

}  // namespace hr::coll

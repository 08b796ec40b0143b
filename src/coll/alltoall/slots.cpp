// Alltoall through data slots: in each round every process writes a piece for each other process into its data slot,
// consecutively, and reads the pieces for itself from all others. A round is written before the previous one is read,
// so that the data that a process waits for was written some time ago.
#include "coll/registry.hpp"
#include "coll/shared/data_slots.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const Blocks& blocks = call.in_place ? call.recv : call.send;
  // The first piece is for the process at distance 1.
  const std::size_t part =
      call.segment->data_slot_bytes() / static_cast<std::size_t>(size - 1) / kCacheLine * kCacheLine;
  const shared::Rounds rounds(call, shared::rounds_of(call.bytes, part), shared::Rounds::DataSlots::kSwapped);
  HR_CO_TRY(copy_block(call.send, rank, call.recv, rank));
  View block;
  for (std::uint64_t step = 0; step <= rounds.count(); ++step) {
    if (step < rounds.count()) {
      const shared::Piece piece = shared::piece_of(call.bytes, part, step);
      shared::Rounds::Writable writable = rounds.writable(step);
      HR_CO_UNTIL(call, writable);
      for (int distance = 1; distance < size; ++distance) {
        const int to = (rank + distance) % size;
        HR_CO_TRY(blocks.block(to, &block));
        HR_CO_TRY(layout::pack(block, piece.begin, piece.bytes,
                               rounds.data_slot(rank, step) + static_cast<std::size_t>(distance - 1) * part));
      }
      rounds.wrote(step + 1);
    }
    if (step == 0) continue;
    const std::uint64_t round = step - 1;
    const shared::Piece piece = shared::piece_of(call.bytes, part, round);
    for (int distance = 1; distance < size; ++distance) {
      const int from = (rank - distance + size) % size;
      shared::StepReached written = rounds.written(from, round + 1);
      HR_CO_UNTIL(call, written);
      HR_CO_TRY(call.recv.block(from, &block));
      HR_CO_TRY(layout::unpack(block, piece.begin, piece.bytes,
                               rounds.data_slot(from, round) + static_cast<std::size_t>(distance - 1) * part));
    }
    rounds.took(round + 1);
  }
  co_return kOk;
}

}  // namespace

const Algorithm alltoall_slots = {"slots", serves(Operation::kAlltoall), &has_wide_data_slots, &run,
                                  Sharing::kDataSlots};

}  // namespace hr::coll

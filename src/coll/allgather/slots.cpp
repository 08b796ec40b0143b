// Allgather through data slots: in each round every process writes a piece of its block and reads one from each other
// process. A round is written before the previous one is read, so that the data that a process waits for was written
// some time ago.
#include "coll/registry.hpp"
#include "coll/shared/data_slots.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const std::size_t most = call.segment->data_slot_bytes();
  // Counts its rounds before any error is returned, because others wait for them.
  const shared::Rounds rounds(call, shared::rounds_of(call.bytes, most), shared::Rounds::DataSlots::kSwapped);
  View own;
  if (call.in_place) {
    HR_CO_TRY(call.recv.block(rank, &own));
  } else {
    HR_CO_TRY(call.send.block(0, &own));
  }
  if (own.packed != call.bytes) {
    co_return fail(own.packed > call.bytes ? Errc::kTruncate : Errc::kCount,
                   "send count and type are %zu bytes, receive count and type %zu a process", own.packed, call.bytes);
  }
  HR_CO_TRY(copy_block(call.send, 0, call.recv, rank));
  for (std::uint64_t step = 0; step <= rounds.count(); ++step) {
    if (step < rounds.count()) {
      const shared::Piece piece = shared::piece_of(call.bytes, most, step);
      shared::Rounds::Writable writable = rounds.writable(step);
      HR_CO_UNTIL(call, writable);
      HR_CO_TRY(layout::pack(own, piece.begin, piece.bytes, rounds.data_slot(rank, step)));
      rounds.wrote(step + 1);
    }
    if (step == 0) continue;
    const std::uint64_t round = step - 1;
    const shared::Piece piece = shared::piece_of(call.bytes, most, round);
    for (int distance = 1; distance < size; ++distance) {
      const int from = (rank + distance) % size;
      shared::StepReached written = rounds.written(from, round + 1);
      HR_CO_UNTIL(call, written);
      View block;
      HR_CO_TRY(call.recv.block(from, &block));
      HR_CO_TRY(layout::unpack(block, piece.begin, piece.bytes, rounds.data_slot(from, round)));
    }
    rounds.took(round + 1);
  }
  co_return kOk;
}

}  // namespace

const Algorithm allgather_slots = {"slots", serves(Operation::kAllgather), &has_data_slots, &run, Sharing::kDataSlots};

}  // namespace hr::coll

// Gatherv through shared flag lines: each process publishes its block with its flag, and the root copies the blocks. A
// block that does not fit next to the flag is sent as a message; its length tells the root. Only the root waits.
#include "coll/outcome.hpp"
#include "coll/registry.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll {
namespace {

bool fits(std::uint64_t bytes) noexcept { return bytes <= shared::kRoomBytes; }

Task run_root(const Call& call) {
  Outcome outcome;
  outcome.add(copy_block(call.send, 0, call.recv, call.rank()));
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.segment->note_all_arrived(call.sequence_number);
  p2p::RequestList requests(static_cast<std::size_t>(call.size()));
  View block;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    const std::uint64_t given = shared::flag_lines_of(call, rank).head.bytes;
    if (given == 0 && call.recv.bytes(rank) == 0) continue;
    HR_CO_TRY(call.recv.block(rank, &block));
    if (fits(given)) {
      outcome.add(shared::take_at_most(call, rank, block));
    } else {
      outcome.add(receive_from(call, rank, block, requests.next()));
    }
  }
  call.segment->end_turn(call.sequence_number);
  outcome.add(co_await requests.all());
  co_return outcome.result();
}

Task run(const Call& call) {
  if (call.is_root()) {
    Task inner = run_root(call);
    const Status status = co_await inner;
    co_return status;
  }
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  View block;
  if (call.send.bytes(0) != 0) HR_CO_TRY(call.send.block(0, &block));
  if (fits(block.packed)) co_return shared::publish_packed(call, block);
  shared::publish(call, block.packed);
  call.segment->end_turn(call.sequence_number);
  p2p::Requests<1> request;
  HR_CO_TRY(send_to(call, call.root, block, request.next()));
  const Status status = co_await request.all();
  co_return status;
}

}  // namespace

const Algorithm gather_cells_lengths = {"cells", serves(Operation::kGatherv), &has_flag_lines, &run,
                                        Sharing::kFlagLines};

}  // namespace hr::coll

// Alltoall through shared flag lines: each process publishes all its blocks with its flag and copies the blocks for
// itself from all others. With two processes, each publishes only the block for the other.
#include "coll/registry.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept {
  return query.ranks == 2 ? has_flag_lines(query) && query.bytes <= shared::kRoomBytes : shared::blocks_fit(query);
}

Status publish_blocks(const Call& call) {
  const Blocks& blocks = call.in_place ? call.recv : call.send;
  if (call.size() != 2) return shared::publish_packed(call, blocks.all());
  View block;
  HR_TRY(blocks.block(1 - call.rank(), &block));
  return shared::publish_packed(call, block);
}

Task run(const Call& call) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  HR_CO_TRY(publish_blocks(call));
  HR_CO_TRY(copy_block(call.send, call.rank(), call.recv, call.rank()));
  shared::FlagsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.segment->note_all_arrived(call.sequence_number);
  View block;
  if (call.size() == 2) {
    HR_CO_TRY(call.recv.block(1 - call.rank(), &block));
    co_return shared::take_packed(call, 1 - call.rank(), block);
  }
  const std::size_t all = call.recv.all().packed;
  const std::size_t own = call.recv.bytes(0) * static_cast<std::size_t>(call.rank());
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    HR_CO_TRY(call.recv.block(rank, &block));
    HR_CO_TRY(shared::take_part(call, rank, all, own, block));
  }
  co_return kOk;
}

}  // namespace

const Algorithm alltoall_cells = {"cells", serves(Operation::kAlltoall), &probe, &run, Sharing::kFlagLines};

}  // namespace hr::coll

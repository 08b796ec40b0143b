// Scatterv through the root's flag line, with a place for the block of each process next to it. Blocks that do not fit
// are sent as messages.
#include "coll/registry.hpp"
#include "coll/shared/places.hpp"

namespace hr::coll {
namespace {

Task run_root(const Call& call, shared::Places places) {
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank != call.rank()) HR_CO_TRY(places.put(call.send, rank));
  }
  shared::publish(call, shared::own_flag_lines(call));
  call.segment->end_turn(call.sequence_number);
  p2p::RequestList requests(static_cast<std::size_t>(call.size()));
  View block;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank() || places.fits(call.send.bytes(rank))) continue;
    HR_CO_TRY(call.send.block(rank, &block));
    HR_CO_TRY(send_to(call, rank, block, requests.next()));
  }
  HR_CO_TRY(copy_block(call.send, call.rank(), call.recv, 0));
  const Status status = co_await requests.all();
  co_return status;
}

Task run(const Call& call) {
  const shared::Places places(call);
  if (call.is_root()) {
    Task inner = run_root(call, places);
    const Status status = co_await inner;
    co_return status;
  }
  shared::FlagArrived arrived{call, call.root};
  HR_CO_UNTIL(call, arrived);
  if (places.fits(places.length_from(call.root))) co_return places.take(call.root, call.recv, 0);
  call.segment->end_turn(call.sequence_number);
  p2p::Requests<1> request;
  View block;
  HR_CO_TRY(call.recv.block(0, &block));
  HR_CO_TRY(receive_from(call, call.root, block, request.next()));
  const Status status = co_await request.all();
  co_return status;
}

}  // namespace

const Algorithm scatter_cells_places = {"cells", serves(Operation::kScatterv), &shared::Places::probe, &run,
                                        Sharing::kFlagLines};

}  // namespace hr::coll

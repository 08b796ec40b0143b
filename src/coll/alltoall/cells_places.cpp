// Alltoallv and alltoallw through shared flag lines: each process publishes its blocks, each in the place of its
// receiver, and copies the blocks for itself from the others. Blocks that do not fit are exchanged as messages, in
// steps.
#include <vector>

#include "coll/alltoall/pairwise.hpp"
#include "coll/outcome.hpp"
#include "coll/registry.hpp"
#include "coll/shared/places.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const shared::Places places(call);
  shared::FlagLinesFree free{call};
  HR_CO_UNTIL(call, free);
  std::vector<bool> sends(static_cast<std::size_t>(call.size()));
  std::vector<bool> receives(sends.size());
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    HR_CO_TRY(places.put(call.send, rank));
    sends[static_cast<std::size_t>(rank)] = !places.fits(call.send.bytes(rank));
  }
  shared::publish(call, shared::own_flag_lines(call));
  Outcome outcome;
  outcome.add(copy_block(call.send, call.rank(), call.recv, call.rank()));
  for (int step = 1; step < call.size(); ++step) {
    const int rank = (call.rank() + step) % call.size();
    if (call.recv.bytes(rank) == 0) continue;
    shared::FlagArrived arrived{call, rank};
    HR_CO_UNTIL(call, arrived);
    if (places.fits(places.length_from(rank))) {
      outcome.add(places.take(rank, call.recv, rank));
    } else {
      receives[static_cast<std::size_t>(rank)] = true;
    }
  }
  call.segment->end_turn(call.sequence_number);
  Task exchanging = exchange_pairwise(call, sends, receives);
  outcome.add(co_await exchanging);
  co_return outcome.result();
}

}  // namespace

const Algorithm alltoall_cells_places = {"cells", serves(Operation::kAlltoallv, Operation::kAlltoallw),
                                         &shared::Places::probe, &run, Sharing::kFlagLines};

}  // namespace hr::coll

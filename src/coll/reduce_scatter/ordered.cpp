// Reduce-scatter as a binomial reduction to rank 0 and one message from there to every process. Keeps the operands in
// rank order; for operations that are not commutative, and for short vectors.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const View vector = call.send.all();
  const View result = call.recv.all();
  TypedScratch accumulator(vector.count, *vector.type);
  TypedScratch room(vector.count, *vector.type);
  const View mine = accumulator.view();
  HR_CO_TRY(layout::copy(vector, mine));
  Task tree = tree_reduce(call, 0, mine, room.view());
  const Status reduced = co_await tree;
  if (!reduced.ok()) co_return reduced;

  p2p::RequestList requests(static_cast<std::size_t>(call.size()));
  if (call.rank() == 0) {
    HR_CO_TRY(layout::copy(slice(mine, 0, result.count), result));
    Count begin = 0;
    for (int rank = 0; rank < call.size(); ++rank) {
      const View part = slice(mine, begin, call.send.count(rank));
      begin += part.count;
      if (rank != 0 && part.packed > 0) HR_CO_TRY(send_to(call, rank, part, requests.next()));
    }
  } else if (result.packed > 0) {
    HR_CO_TRY(receive_from(call, 0, result, requests.next()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm reduce_scatter_ordered = {"ordered", serves(Operation::kReduceScatter, Operation::kReduceScatterBlock),
                                          &intra, &run};

}  // namespace hr::coll

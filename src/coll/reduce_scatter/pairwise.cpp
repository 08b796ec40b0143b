// Reduce-scatter in steps: in step k a process sends the rank k after it that rank's part, and combines the part that
// the rank k before it sends. p - 1 messages of one part each.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const View vector = call.send.all();
  const View result = call.recv.all();
  View own;
  HR_CO_TRY(call.send.block(rank, &own));
  // If in place, the result would overwrite parts that are still to be sent.
  TypedScratch accumulator(call.in_place ? result.count : 0, *result.type);
  TypedScratch room(result.count, *result.type);
  const View mine = call.in_place ? accumulator.view() : result;
  HR_CO_TRY(layout::copy(own, mine));

  // Start of the part of rank + step.
  Count begin = 0;
  for (int before = 0; before < rank; ++before) begin += call.send.count(before);
  Requests<2> requests;
  for (int step = 1; step < size; ++step) {
    const int previous = (rank + step - 1) % size;
    const int to = (rank + step) % size;
    begin = to == 0 ? 0 : begin + call.send.count(previous);
    const View outgoing = slice(vector, begin, call.send.count(to));
    if (room.view().packed > 0) {
      HR_CO_TRY(receive_from(call, (rank - step + size) % size, room.view(), requests.next()));
    }
    if (outgoing.packed > 0) HR_CO_TRY(send_to(call, to, outgoing, requests.next()));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
    if (mine.count > 0) HR_CO_TRY(combine(call, room.view(), mine));
  }
  if (call.in_place) HR_CO_TRY(layout::copy(mine, result));
  co_return kOk;
}

}  // namespace

const Algorithm reduce_scatter_pairwise = {
    "pairwise", serves(Operation::kReduceScatter, Operation::kReduceScatterBlock), &intra_commutative, &run};

}  // namespace hr::coll

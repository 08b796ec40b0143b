// Scan and exscan along the chain of ranks: one message per process, p - 1 steps, and less work than any other
// algorithm.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int rank = call.rank();
  const bool last = rank == call.size() - 1;
  const View result = call.recv.all();
  const bool inclusive = call.operation == Operation::kScan;
  TypedScratch room(result.count, *result.type);
  // Inclusive: the result is sent on, and `room` receives incoming data. Exclusive: vice versa.
  const View onward = inclusive ? result : room.view();
  const View incoming = inclusive ? room.view() : result;
  if (!call.in_place || !inclusive) HR_CO_TRY(layout::copy(contribution(call), onward));

  Requests<1> request;
  if (rank > 0) {
    HR_CO_TRY(receive_from(call, rank - 1, incoming, request.next()));
    const Status received = co_await request.all();
    if (!received.ok()) co_return received;
    if (inclusive || !last) HR_CO_TRY(combine(call, incoming, onward));
  }
  if (!last) HR_CO_TRY(send_to(call, rank + 1, onward, request.next()));
  const Status sent = co_await request.all();
  co_return sent;
}

}  // namespace

const Algorithm scan_linear = {"linear", serves(Operation::kScan, Operation::kExscan), &intra, &run};

}  // namespace hr::coll

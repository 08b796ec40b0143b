// Scan and exscan by recursive doubling: log2 p exchanges. `partial` is the reduction over the block of ranks combined
// so far; operands from lower ranks are also combined into the result. Supports any operation and any number of
// processes.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const View result = call.recv.all();
  const bool inclusive = call.operation == Operation::kScan;
  TypedScratch first(result.count, *result.type);
  TypedScratch second(result.count, *result.type);
  View partial = first.view();
  View other = second.view();
  HR_CO_TRY(layout::copy(contribution(call), partial));
  if (inclusive && !call.in_place) HR_CO_TRY(layout::copy(call.send.all(), result));
  bool started = inclusive;  // the result has been initialised

  Requests<2> requests;
  for (int bit = 1; bit < size; bit *= 2) {
    const int peer = rank ^ bit;
    if (peer >= size) continue;
    HR_CO_TRY(exchange(call, peer, partial, peer, other, requests));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
    if (peer > rank) {
      HR_CO_TRY(combine(call, partial, other));
      std::swap(partial, other);
      continue;
    }
    if (started) {
      HR_CO_TRY(combine(call, other, result));
    } else {
      HR_CO_TRY(layout::copy(other, result));
      started = true;
    }
    HR_CO_TRY(combine(call, other, partial));
  }
  co_return kOk;
}

}  // namespace

const Algorithm scan_recursive_doubling = {"recursive_doubling", serves(Operation::kScan, Operation::kExscan), &intra,
                                           &run};

}  // namespace hr::coll

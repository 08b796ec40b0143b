// Reduce in which every peer sends its vector to the root, which combines the vectors in rank order. Supports
// intercommunicators.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  if (!call.is_root()) {
    Requests<1> request;
    if (call.root != abi::kProcNull) HR_CO_TRY(send_to(call, call.root, call.send.all(), request.next()));
    const Status sent = co_await request.all();
    co_return sent;
  }
  const View result = call.recv.all();
  // If in place, the contribution is saved, because the first vectors to arrive overwrite it.
  TypedScratch saved(call.in_place ? result.count : 0, *result.type);
  View own = call.send.none() ? saved.view() : call.send.all();
  if (call.in_place) HR_CO_TRY(layout::copy(result, own));
  Task receive = receive_and_reduce(call, own, result);
  const Status status = co_await receive;
  co_return status;
}

}  // namespace

const Algorithm reduce_linear = {"linear", serves(Operation::kReduce), &always, &run};

}  // namespace hr::coll

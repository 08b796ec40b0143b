// Allreduce in which every process sends its vector to every peer and combines the vectors in rank order.
// Supports intercommunicators, where the result is the reduction over the other group (section 6.9.6).
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int peers = call.peers();
  const View result = call.recv.all();
  // If in place, a copy of the contribution is sent, because the result overwrites the original.
  TypedScratch saved(call.in_place ? result.count : 0, *result.type);
  const View own = call.send.none() ? saved.view() : call.send.all();
  if (call.in_place) HR_CO_TRY(layout::copy(result, own));
  p2p::RequestList requests(static_cast<std::size_t>(peers));
  for (int peer = 0; peer < peers; ++peer) {
    if (peer != call.own_peer()) HR_CO_TRY(send_to(call, peer, own, requests.next()));
  }
  Task receive = receive_and_reduce(call, own, result);
  const Status reduced = co_await receive;
  if (!reduced.ok()) co_return reduced;
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm allreduce_linear = {"linear", serves(Operation::kAllreduce), &always, &run};

}  // namespace hr::coll

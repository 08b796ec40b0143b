// Reduce-scatter in which every process receives all whole vectors and keeps its own part of the result. Supports
// intercommunicators, where a process does not know how the other group divides the vector (section 6.10.2).
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int peers = call.peers();
  const View vector = call.send.all();
  p2p::RequestList requests(static_cast<std::size_t>(peers));
  for (int peer = 0; peer < peers; ++peer) {
    if (peer != call.own_peer()) HR_CO_TRY(send_to(call, peer, vector, requests.next()));
  }
  TypedScratch total(vector.count, *vector.type);
  Task receive = receive_and_reduce(call, vector, total.view());
  const Status reduced = co_await receive;
  if (!reduced.ok()) co_return reduced;
  // The result may overwrite the vector only once the vector has been sent.
  const Status status = co_await requests.all();
  if (!status.ok()) co_return status;
  Count begin = 0;
  for (int before = 0; before < call.rank(); ++before) begin += call.send.count(before);
  HR_CO_TRY(layout::copy(slice(total.view(), begin, call.send.count(call.rank())), call.recv.all()));
  co_return kOk;
}

}  // namespace

const Algorithm reduce_scatter_linear = {"linear", serves(Operation::kReduceScatter, Operation::kReduceScatterBlock),
                                         &always, &run};

}  // namespace hr::coll

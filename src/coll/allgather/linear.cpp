// Allgather with one message from every process to every peer. Supports blocks of any size and intercommunicators.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int peers = call.peers();
  const int own = call.own_peer();
  View data;
  if (call.in_place) {
    HR_CO_TRY(call.recv.block(own, &data));
  } else {
    HR_CO_TRY(call.send.block(0, &data));
  }
  p2p::RequestList requests(2 * static_cast<std::size_t>(peers));
  View incoming;
  for (int peer = 0; peer < peers; ++peer) {
    if (peer == own || call.recv.bytes(peer) == 0) continue;
    HR_CO_TRY(call.recv.block(peer, &incoming));
    HR_CO_TRY(receive_from(call, peer, incoming, requests.next()));
  }
  for (int peer = 0; peer < peers && data.packed > 0; ++peer) {
    if (peer != own) HR_CO_TRY(send_to(call, peer, data, requests.next()));
  }
  if (own >= 0) HR_CO_TRY(copy_block(call.send, 0, call.recv, own));
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm allgather_linear = {"linear", serves(Operation::kAllgather, Operation::kAllgatherv), &always, &run};

}  // namespace hr::coll

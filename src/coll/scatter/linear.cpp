// Scatter with one message from the root to every peer. Supports blocks of any size and intercommunicators.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int peers = call.peers();
  p2p::RequestList requests(static_cast<std::size_t>(peers) + 1);
  View view;
  if (call.is_root()) {
    for (int peer = 0; peer < peers; ++peer) {
      if (peer == call.own_peer() || call.send.bytes(peer) == 0) continue;
      HR_CO_TRY(call.send.block(peer, &view));
      HR_CO_TRY(send_to(call, peer, view, requests.next()));
    }
    if (!call.members->is_inter()) HR_CO_TRY(copy_block(call.send, call.rank(), call.recv, 0));
  } else if (call.root != abi::kProcNull && call.recv.bytes(0) != 0) {
    HR_CO_TRY(call.recv.block(0, &view));
    HR_CO_TRY(receive_from(call, call.root, view, requests.next()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm scatter_linear = {"linear", serves(Operation::kScatter, Operation::kScatterv), &always, &run};

}  // namespace hr::coll

// Gather with one message from every peer to the root. Supports blocks of any size and intercommunicators.
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
      if (peer == call.own_peer() || call.recv.bytes(peer) == 0) continue;
      HR_CO_TRY(call.recv.block(peer, &view));
      HR_CO_TRY(receive_from(call, peer, view, requests.next()));
    }
    if (!call.members->is_inter()) HR_CO_TRY(copy_block(call.send, 0, call.recv, call.rank()));
  } else if (call.root != abi::kProcNull && call.send.bytes(0) != 0) {
    HR_CO_TRY(call.send.block(0, &view));
    HR_CO_TRY(send_to(call, call.root, view, requests.next()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm gather_linear = {"linear", serves(Operation::kGather, Operation::kGatherv), &always, &run};

}  // namespace hr::coll

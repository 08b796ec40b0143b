// Broadcast with one message from the root to every peer. Supports intercommunicators.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int peers = call.peers();
  p2p::RequestList requests(static_cast<std::size_t>(peers) + 1);
  const View data = call.recv.all();
  if (call.is_root()) {
    for (int peer = 0; peer < peers; ++peer) {
      if (peer != call.own_peer()) HR_CO_TRY(send_to(call, peer, data, requests.next()));
    }
  } else if (call.root != abi::kProcNull) {
    HR_CO_TRY(receive_from(call, call.root, data, requests.next()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm bcast_linear = {"linear", serves(Operation::kBcast), &always, &run};

}  // namespace hr::coll

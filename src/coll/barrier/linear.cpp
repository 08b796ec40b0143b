// Barrier with a message from every process to every peer. For intercommunicators: no process leaves before all
// processes of the other group have arrived (section 6.3).
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int peers = call.peers();
  const View nothing = bytes_view(nullptr, 0);
  p2p::RequestList requests(2 * static_cast<std::size_t>(peers));
  for (int peer = 0; peer < peers; ++peer) {
    if (peer != call.own_peer()) HR_CO_TRY(exchange(call, peer, nothing, peer, nothing, requests));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm barrier_linear = {"linear", serves(Operation::kBarrier), &always, &run};

}  // namespace hr::coll

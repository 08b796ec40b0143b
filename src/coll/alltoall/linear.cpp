// Alltoall with all messages in flight at once. For few processes and small blocks; supports intercommunicators.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return !query.in_place; }

Task run(const Call& call) {
  const int peers = call.peers();
  const int own = call.own_peer();
  p2p::RequestList requests(2 * static_cast<std::size_t>(peers));
  View view;
  for (int step = 0; step < peers; ++step) {
    const int peer = (call.rank() + step) % peers;
    if (peer == own || call.recv.bytes(peer) == 0) continue;
    HR_CO_TRY(call.recv.block(peer, &view));
    HR_CO_TRY(receive_from(call, peer, view, requests.next()));
  }
  // Sends in the opposite order, so that processes do not all start with the same receiver.
  for (int step = 0; step < peers; ++step) {
    const int peer = (call.rank() % peers - step + peers) % peers;
    if (peer == own || call.send.bytes(peer) == 0) continue;
    HR_CO_TRY(call.send.block(peer, &view));
    HR_CO_TRY(send_to(call, peer, view, requests.next()));
  }
  if (own >= 0) HR_CO_TRY(copy_block(call.send, own, call.recv, own));
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm alltoall_linear = {"linear", serves(Operation::kAlltoall, Operation::kAlltoallv, Operation::kAlltoallw),
                                   &probe, &run};

}  // namespace hr::coll

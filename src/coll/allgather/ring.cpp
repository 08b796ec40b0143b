// Allgather around a ring: p - 1 steps; in each, a process forwards the block that it received last. Supports blocks of
// any size; used for long ones, because each byte is sent only to a neighbor.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  HR_CO_TRY(copy_block(call.send, 0, call.recv, rank));
  const int right = (rank + 1) % size;
  const int left = (rank - 1 + size) % size;
  Requests<2> requests;
  for (int step = 0; step < size - 1; ++step) {
    View outgoing;
    View incoming;
    HR_CO_TRY(call.recv.block((rank - step + size) % size, &outgoing));
    HR_CO_TRY(call.recv.block((rank - step - 1 + size) % size, &incoming));
    if (incoming.packed > 0) HR_CO_TRY(receive_from(call, left, incoming, requests.next()));
    if (outgoing.packed > 0) HR_CO_TRY(send_to(call, right, outgoing, requests.next()));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }
  co_return kOk;
}

}  // namespace

const Algorithm allgather_ring = {"ring", serves(Operation::kAllgather, Operation::kAllgatherv), &intra, &run};

}  // namespace hr::coll

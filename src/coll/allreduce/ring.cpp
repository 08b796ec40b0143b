// Allreduce of long vectors: a first pass around a ring reduces one part on every process, and a second pass
// distributes the parts. Each process sends and receives about twice the vector, regardless of p.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const View vector = call.recv.all();
  if (!call.in_place) HR_CO_TRY(layout::copy(call.send.all(), vector));
  Task ring = ring_reduce(call, vector);
  const Status reduced = co_await ring;
  if (!reduced.ok()) co_return reduced;

  const Cut cut{vector.count, size};
  Requests<2> requests;
  for (int step = 0; step < size - 1; ++step) {
    const View outgoing = cut.of(vector, (rank + 1 - step + size) % size);
    const View incoming = cut.of(vector, (rank - step + size) % size);
    if (incoming.packed > 0) HR_CO_TRY(receive_from(call, (rank - 1 + size) % size, incoming, requests.next()));
    if (outgoing.packed > 0) HR_CO_TRY(send_to(call, (rank + 1) % size, outgoing, requests.next()));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }
  co_return kOk;
}

}  // namespace

const Algorithm allreduce_ring = {"ring", serves(Operation::kAllreduce), &intra_commutative, &run};

}  // namespace hr::coll

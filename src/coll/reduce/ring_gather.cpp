// Reduce of long vectors: a pass around a ring leaves every process with the result of one part, and the root gathers
// the parts. Each process sends about one vector, whereas in a tree inner processes would receive it up to log2 p
// times.
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const bool root = call.rank() == call.root;
  const View& data = contribution(call);
  TypedScratch accumulator(root ? 0 : data.count, *data.type);
  const View vector = root ? call.recv.all() : accumulator.view();
  if (!call.in_place) HR_CO_TRY(layout::copy(data, vector));
  Task ring = ring_reduce(call, vector);
  const Status reduced = co_await ring;
  if (!reduced.ok()) co_return reduced;

  const Cut cut{vector.count, size};
  p2p::RequestList requests(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    const View part = cut.of(vector, (rank + 1) % size);
    if (rank == call.root || part.packed == 0) continue;
    if (root) HR_CO_TRY(receive_from(call, rank, part, requests.next()));
    if (rank == call.rank()) HR_CO_TRY(send_to(call, call.root, part, requests.next()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm reduce_ring_gather = {"ring_gather", serves(Operation::kReduce), &intra_commutative, &run};

}  // namespace hr::coll

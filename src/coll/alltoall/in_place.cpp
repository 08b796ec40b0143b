// Alltoall in place (section 6.8): a tournament in which each pair of processes exchanges its blocks once. Outgoing
// data is packed first, because incoming data overwrites it. The two blocks of a pair have the same type signature, but
// their layouts may differ.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return !query.inter && query.in_place; }

Task swap_block(const Call& call, int peer) {
  View block;
  HR_CO_TRY(call.recv.block(peer, &block));
  if (block.packed == 0) co_return kOk;
  Scratch packed(block.packed);
  HR_CO_TRY(layout::pack(block, 0, block.packed, packed.data()));
  Requests<2> requests;
  HR_CO_TRY(exchange(call, peer, packed.view(0, block.packed), peer, block, requests));
  const Status status = co_await requests.all();
  co_return status;
}

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  for (int round = 0; round < size; ++round) {
    const int peer = (round - rank + size) % size;
    if (peer == rank) continue;
    Task swap = swap_block(call, peer);
    const Status status = co_await swap;
    if (!status.ok()) co_return status;
  }
  co_return kOk;
}

}  // namespace

const Algorithm alltoall_in_place = {
    "in_place", serves(Operation::kAlltoall, Operation::kAlltoallv, Operation::kAlltoallw), &probe, &run};

}  // namespace hr::coll

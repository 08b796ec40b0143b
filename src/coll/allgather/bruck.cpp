// Allgather by Bruck's algorithm: ceil(log2 p) steps, each of which doubles the number of packed blocks that a process
// holds. Supports any number of processes. For small blocks.
#include <algorithm>

#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const std::size_t block = call.recv.bytes(0);
  // Block i comes from process (rank + i) mod p.
  Scratch packed(static_cast<std::size_t>(size) * block);
  View own;
  if (call.in_place) {
    HR_CO_TRY(call.recv.block(rank, &own));
  } else {
    HR_CO_TRY(call.send.block(0, &own));
  }
  if (own.packed != block) {
    co_return fail(own.packed > block ? Errc::kTruncate : Errc::kCount,
                   "send count and type are %zu bytes, receive count and type %zu a process", own.packed, block);
  }
  HR_CO_TRY(layout::pack(own, 0, block, packed.data()));

  Requests<2> requests;
  for (int held = 1; held < size; held *= 2) {
    const std::size_t bytes = static_cast<std::size_t>(std::min(held, size - held)) * block;
    HR_CO_TRY(exchange(call, (rank - held + size) % size, packed.view(0, bytes), (rank + held) % size,
                       packed.view(static_cast<std::size_t>(held) * block, bytes), requests));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }

  const View all = call.recv.all();
  const std::size_t wrapped = static_cast<std::size_t>(rank) * block;
  const std::size_t straight = static_cast<std::size_t>(size) * block - wrapped;
  HR_CO_TRY(layout::unpack(all, wrapped, straight, packed.data()));
  HR_CO_TRY(layout::unpack(all, 0, wrapped, packed.data() + straight));
  co_return kOk;
}

}  // namespace

const Algorithm allgather_bruck = {"bruck", serves(Operation::kAllgather), &intra, &run};

}  // namespace hr::coll

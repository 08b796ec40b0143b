// Scatter down a binomial tree rooted at `root`: log2 p steps; inner processes hold the packed blocks of their
// subtrees.
// For small blocks.
#include <algorithm>

#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const int relative = (rank - call.root + size) % size;
  int bit = 1;
  while (bit < size && (relative & bit) == 0) bit *= 2;
  const int subtree = std::min(bit, size - relative);  // at the root, the number of all processes
  const bool root = relative == 0;
  const std::size_t block = root ? call.send.bytes(0) : call.recv.bytes(0);

  if (!root && subtree == 1) {
    View own;
    HR_CO_TRY(call.recv.block(0, &own));
    Requests<1> request;
    HR_CO_TRY(receive_from(call, (rank - bit + size) % size, own, request.next()));
    const Status status = co_await request.all();
    co_return status;
  }

  // Packed blocks by relative rank. The root needs them only if a subtree wraps around the last rank.
  const bool wraps = root && call.root != 0;
  Scratch packed(root && !wraps ? 0 : static_cast<std::size_t>(subtree) * block);
  Requests<32> requests;
  if (!root) {
    const View part = packed.view(0, static_cast<std::size_t>(subtree) * block);
    HR_CO_TRY(receive_from(call, (rank - bit + size) % size, part, requests.next()));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  } else if (wraps) {
    const View all = call.send.all();
    const std::size_t before = static_cast<std::size_t>(call.root) * block;
    const std::size_t after = static_cast<std::size_t>(size) * block - before;
    HR_CO_TRY(layout::pack(all, before, after, packed.data()));
    HR_CO_TRY(layout::pack(all, 0, before, packed.data() + after));
  }

  for (bit /= 2; bit > 0; bit /= 2) {
    if (relative + bit >= size) continue;
    const int blocks = std::min(bit, size - relative - bit);
    View part;
    if (root && !wraps) {
      const Count count = call.send.count(0);
      part = slice(call.send.all(), bit * count, blocks * count);
    } else {
      part = packed.view(static_cast<std::size_t>(bit) * block, static_cast<std::size_t>(blocks) * block);
    }
    HR_CO_TRY(send_to(call, (rank + bit) % size, part, requests.next()));
  }
  if (root) {
    HR_CO_TRY(copy_block(call.send, rank, call.recv, 0));
  } else {
    View own;
    HR_CO_TRY(call.recv.block(0, &own));
    HR_CO_TRY(layout::unpack(own, 0, block, packed.data()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm scatter_binomial = {"binomial", serves(Operation::kScatter), &intra, &run};

}  // namespace hr::coll

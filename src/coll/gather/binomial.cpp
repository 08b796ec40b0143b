// Gather up a binomial tree rooted at `root`: log2 p steps; inner processes collect the packed blocks of their
// subtrees.
// For small blocks.
#include <algorithm>

#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

// Receives the blocks of the relative ranks [first, first + blocks) at the root: directly into place, unless they wrap
// around the last rank and must be split.
Task receive_at_root(const Call& call, int first, int blocks) {
  const int size = call.size();
  const int begin = (first + call.root) % size;
  const Count count = call.recv.count(0);
  const View all = call.recv.all();
  const int before_wrap = std::min(blocks, size - begin);
  if (before_wrap == blocks) {
    Requests<1> request;
    HR_CO_TRY(receive_from(call, begin, slice(all, begin * count, blocks * count), request.next()));
    const Status status = co_await request.all();
    co_return status;
  }
  const std::size_t block = call.recv.bytes(0);
  Scratch packed(static_cast<std::size_t>(blocks) * block);
  Requests<1> request;
  HR_CO_TRY(receive_from(call, begin, packed.view(0, static_cast<std::size_t>(blocks) * block), request.next()));
  const Status status = co_await request.all();
  if (!status.ok()) co_return status;
  const std::size_t cut = static_cast<std::size_t>(before_wrap) * block;
  HR_CO_TRY(layout::unpack(all, static_cast<std::size_t>(begin) * block, cut, packed.data()));
  HR_CO_TRY(layout::unpack(all, 0, static_cast<std::size_t>(blocks) * block - cut, packed.data() + cut));
  co_return kOk;
}

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const int relative = (rank - call.root + size) % size;
  if (relative == 0) {
    HR_CO_TRY(copy_block(call.send, 0, call.recv, rank));
    for (int bit = 1; bit < size; bit *= 2) {
      Task child = receive_at_root(call, bit, std::min(bit, size - bit));
      const Status status = co_await child;
      if (!status.ok()) co_return status;
    }
    co_return kOk;
  }

  int bit = 1;
  while ((relative & bit) == 0) bit *= 2;
  const int subtree = std::min(bit, size - relative);
  const int parent = (rank - bit + size) % size;
  const std::size_t block = call.send.bytes(0);
  View own;
  HR_CO_TRY(call.send.block(0, &own));
  if (subtree == 1) {
    Requests<1> request;
    HR_CO_TRY(send_to(call, parent, own, request.next()));
    const Status sent = co_await request.all();
    co_return sent;
  }
  Scratch packed(static_cast<std::size_t>(subtree) * block);
  Requests<32> requests;
  for (int child = 1; child < subtree; child *= 2) {
    const auto blocks = static_cast<std::size_t>(std::min(child, subtree - child));
    HR_CO_TRY(receive_from(call, (rank + child) % size,
                           packed.view(static_cast<std::size_t>(child) * block, blocks * block), requests.next()));
  }
  HR_CO_TRY(layout::pack(own, 0, block, packed.data()));
  const Status received = co_await requests.all();
  if (!received.ok()) co_return received;
  HR_CO_TRY(send_to(call, parent, packed.view(0, static_cast<std::size_t>(subtree) * block), requests.next()));
  const Status sent = co_await requests.all();
  co_return sent;
}

}  // namespace

const Algorithm gather_binomial = {"binomial", serves(Operation::kGather), &intra, &run};

}  // namespace hr::coll

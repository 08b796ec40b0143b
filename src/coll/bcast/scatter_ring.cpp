// Broadcast of long messages: the packed bytes are cut into p pieces, scattered down a binomial tree, and then
// distributed to all around a ring. Each process sends and receives at most about twice the message, regardless of p.
#include <algorithm>

#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

// The pieces of `bytes` bytes; the last ones may be short or empty.
struct Pieces {
  std::size_t bytes;
  std::size_t piece;
  [[nodiscard]] std::size_t begin(int i) const noexcept { return std::min(bytes, static_cast<std::size_t>(i) * piece); }
};

Task run(const Call& call) {
  const int size = call.size();
  const int relative = (call.rank() - call.root + size) % size;
  const View data = call.recv.all();
  // Noncontiguous data passes through a packed copy.
  Scratch packed(data.contiguous ? 0 : data.packed);
  const View bytes = data.contiguous ? bytes_view(data.data(), data.packed, data.where) : packed.view(0, data.packed);
  if (!data.contiguous && relative == 0) HR_CO_TRY(layout::pack(data, 0, data.packed, packed.data()));

  const auto processes = static_cast<std::size_t>(size);
  const Pieces pieces{data.packed, ((data.packed + processes - 1) / processes + 63) / 64 * 64};
  const auto range = [&](int first, int last) {
    const std::size_t begin = pieces.begin(first);
    return slice(bytes, static_cast<Count>(begin), static_cast<Count>(pieces.begin(last) - begin));
  };

  // Scatter: a process receives the pieces of its whole subtree from its parent.
  int bit = 1;
  while (bit < size && (relative & bit) == 0) bit *= 2;
  Requests<32> requests;
  if (relative != 0) {
    const View part = range(relative, std::min(relative + bit, size));
    if (part.count > 0) HR_CO_TRY(receive_from(call, (call.rank() - bit + size) % size, part, requests.next()));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (relative + bit >= size) continue;
    const View part = range(relative + bit, std::min(relative + 2 * bit, size));
    if (part.count > 0) HR_CO_TRY(send_to(call, (call.rank() + bit) % size, part, requests.next()));
  }
  const Status scattered = co_await requests.all();
  if (!scattered.ok()) co_return scattered;

  // Ring: sends the last piece received to the right.
  const int right = (call.rank() + 1) % size;
  const int left = (call.rank() - 1 + size) % size;
  for (int step = 0; step < size - 1; ++step) {
    const int out = (relative - step + size) % size;
    const int in = (relative - step - 1 + size) % size;
    const View outgoing = range(out, out + 1);
    const View incoming = range(in, in + 1);
    if (incoming.count > 0) HR_CO_TRY(receive_from(call, left, incoming, requests.next()));
    if (outgoing.count > 0) HR_CO_TRY(send_to(call, right, outgoing, requests.next()));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }
  if (!data.contiguous && relative != 0) HR_CO_TRY(layout::unpack(data, 0, data.packed, packed.data()));
  co_return kOk;
}

}  // namespace

const Algorithm bcast_scatter_ring = {"scatter_ring", serves(Operation::kBcast), &intra, &run};

}  // namespace hr::coll

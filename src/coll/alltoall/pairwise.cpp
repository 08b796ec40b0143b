// Alltoall in steps: in step k a process sends to the rank k after it and receives from the rank k before it; kWindow
// steps are in progress at once, so that neither buffers nor receivers are swamped.
#include "coll/alltoall/pairwise.hpp"

#include <algorithm>

#include "coll/registry.hpp"

namespace hr::coll {
namespace {

constexpr int kWindow = 4;

bool probe(const Query& query) noexcept { return !query.inter && !query.in_place; }

Task run(const Call& call) {
  HR_CO_TRY(copy_block(call.send, call.rank(), call.recv, call.rank()));
  std::vector<bool> sends(static_cast<std::size_t>(call.size()));
  std::vector<bool> receives(sends.size());
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    sends[static_cast<std::size_t>(rank)] = call.send.bytes(rank) != 0;
    receives[static_cast<std::size_t>(rank)] = call.recv.bytes(rank) != 0;
  }
  Task exchanging = exchange_pairwise(call, sends, receives);
  const Status status = co_await exchanging;
  co_return status;
}

}  // namespace

Task exchange_pairwise(const Call& call, const std::vector<bool>& sends, const std::vector<bool>& receives) {
  const int size = call.size();
  const int rank = call.rank();
  Requests<2 * kWindow> requests;
  View view;
  for (int first = 1; first < size; first += kWindow) {
    const int last = std::min(first + kWindow, size);
    for (int step = first; step < last; ++step) {
      const int from = (rank - step + size) % size;
      if (!receives[static_cast<std::size_t>(from)]) continue;
      HR_CO_TRY(call.recv.block(from, &view));
      HR_CO_TRY(receive_from(call, from, view, requests.next()));
    }
    for (int step = first; step < last; ++step) {
      const int to = (rank + step) % size;
      if (!sends[static_cast<std::size_t>(to)]) continue;
      HR_CO_TRY(call.send.block(to, &view));
      HR_CO_TRY(send_to(call, to, view, requests.next()));
    }
    if (requests.count() == 0) continue;
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }
  co_return kOk;
}

const Algorithm alltoall_pairwise = {
    "pairwise", serves(Operation::kAlltoall, Operation::kAlltoallv, Operation::kAlltoallw), &probe, &run};

}  // namespace hr::coll

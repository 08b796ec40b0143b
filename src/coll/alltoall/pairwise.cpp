// Alltoall in steps: in step k a process sends to the rank k after it and receives from the rank k before it; kWindow
// steps are in progress at once, so that neither buffers nor receivers are swamped.
#include <algorithm>

#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

constexpr int kWindow = 4;

bool probe(const Query& query) noexcept { return !query.inter && !query.in_place; }

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  HR_CO_TRY(copy_block(call.send, rank, call.recv, rank));
  Requests<2 * kWindow> requests;
  View view;
  for (int first = 1; first < size; first += kWindow) {
    const int last = std::min(first + kWindow, size);
    for (int step = first; step < last; ++step) {
      const int from = (rank - step + size) % size;
      if (call.recv.bytes(from) == 0) continue;
      HR_CO_TRY(call.recv.block(from, &view));
      HR_CO_TRY(receive_from(call, from, view, requests.next()));
    }
    for (int step = first; step < last; ++step) {
      const int to = (rank + step) % size;
      if (call.send.bytes(to) == 0) continue;
      HR_CO_TRY(call.send.block(to, &view));
      HR_CO_TRY(send_to(call, to, view, requests.next()));
    }
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }
  co_return kOk;
}

}  // namespace

const Algorithm alltoall_pairwise = {
    "pairwise", serves(Operation::kAlltoall, Operation::kAlltoallv, Operation::kAlltoallw), &probe, &run};

}  // namespace hr::coll

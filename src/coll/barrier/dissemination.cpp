// Barrier by dissemination: in round k a process signals the rank 2^k after it and waits for the rank 2^k before it.
// ceil(log2 p) rounds, any number of processes.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const View nothing = bytes_view(nullptr, 0);
  Requests<2> requests;
  for (int distance = 1; distance < size; distance *= 2) {
    HR_CO_TRY(exchange(call, (rank + distance) % size, nothing, (rank - distance + size) % size, nothing, requests));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
  }
  co_return kOk;
}

}  // namespace

const Algorithm barrier_dissemination = {"dissemination", serves(Operation::kBarrier), &intra, &run};

}  // namespace hr::coll

// Broadcast down a binomial tree rooted at `root`: log2 p steps of the whole message. For small messages.
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int relative = (call.rank() - call.root + size) % size;
  const View data = call.recv.all();

  // The lowest set bit determines the parent; the bits below it, the children.
  int bit = 1;
  while (bit < size && (relative & bit) == 0) bit *= 2;
  if (relative != 0) {
    Requests<1> request;
    HR_CO_TRY(receive_from(call, (call.rank() - bit + size) % size, data, request.next()));
    const Status status = co_await request.all();
    if (!status.ok()) co_return status;
  }
  Requests<32> requests;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (relative + bit < size) HR_CO_TRY(send_to(call, (call.rank() + bit) % size, data, requests.next()));
  }
  const Status status = co_await requests.all();
  co_return status;
}

}  // namespace

const Algorithm bcast_binomial = {"binomial", serves(Operation::kBcast), &intra, &run};

}  // namespace hr::coll

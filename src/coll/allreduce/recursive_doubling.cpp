// Allreduce by recursive doubling: log2 p exchanges of the whole vector. If p is not a power of two, the first
// processes form pairs: the even one sends its vector to the odd one and receives the result at the end. Operands stay
// in rank order, so that any operation can be used. For short vectors.
#include "coll/doubling.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const int size = call.size();
  const int rank = call.rank();
  const View result = call.recv.all();
  if (!call.in_place) HR_CO_TRY(layout::copy(call.send.all(), result));
  if (size == 1) co_return kOk;

  const Doubling doubling(size);
  const int paired = doubling.paired;
  if (rank < paired && rank % 2 == 0) {
    Task other_works = delegate_to_pair(call, result);
    const Status status = co_await other_works;
    co_return status;
  }

  TypedScratch room(result.count, *result.type);
  Requests<2> requests;
  View mine = result;
  View other = room.view();
  if (rank < paired) {
    HR_CO_TRY(receive_from(call, rank - 1, other, requests.next()));
    const Status received = co_await requests.all();
    if (!received.ok()) co_return received;
    HR_CO_TRY(combine(call, other, mine));
  }
  const int position = doubling.position(rank);
  for (int bit = 1; bit < doubling.power; bit *= 2) {
    const int partner = position ^ bit;
    const int peer = doubling.rank_at(partner);
    HR_CO_TRY(exchange(call, peer, mine, peer, other, requests));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
    if (partner < position) {
      HR_CO_TRY(combine(call, other, mine));
    } else {
      HR_CO_TRY(combine(call, mine, other));
      std::swap(mine, other);
    }
  }
  if (rank < paired) {
    HR_CO_TRY(send_to(call, rank - 1, mine, requests.next()));
    const Status sent = co_await requests.all();
    if (!sent.ok()) co_return sent;
  }
  if (mine.address != result.address) HR_CO_TRY(layout::copy(mine, result));
  co_return kOk;
}

}  // namespace

const Algorithm allreduce_recursive_doubling = {"recursive_doubling", serves(Operation::kAllreduce), &intra, &run};

}  // namespace hr::coll

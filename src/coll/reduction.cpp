#include "coll/reduction.hpp"

namespace hr::coll {

Task ring_reduce(const Call& call, View vector) {
  const int size = call.size();
  const int rank = call.rank();
  const Cut cut{vector.count, size};
  TypedScratch scratch(cut.begin(1), *vector.type);
  const int right = (rank + 1) % size;
  const int left = (rank - 1 + size) % size;
  Requests<2> requests;
  for (int step = 0; step < size - 1; ++step) {
    const View outgoing = cut.of(vector, (rank - step + size) % size);
    const View target = cut.of(vector, (rank - step - 1 + size) % size);
    const View incoming = slice(scratch.view(), 0, target.count);
    if (incoming.packed > 0) HR_CO_TRY(receive_from(call, left, incoming, requests.next()));
    if (outgoing.packed > 0) HR_CO_TRY(send_to(call, right, outgoing, requests.next()));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
    if (target.count > 0) HR_CO_TRY(combine(call, incoming, target));
  }
  co_return kOk;
}

Task tree_reduce(const Call& call, int top, View mine, View other) {
  const int size = call.size();
  const int relative = (call.rank() - top + size) % size;
  const View home = mine;
  Requests<1> request;
  for (int bit = 1; bit < size; bit *= 2) {
    if ((relative & bit) != 0) {
      HR_CO_TRY(send_to(call, (call.rank() - bit + size) % size, mine, request.next()));
      const Status sent = co_await request.all();
      co_return sent;
    }
    if (relative + bit >= size) continue;
    HR_CO_TRY(receive_from(call, (call.rank() + bit) % size, other, request.next()));
    const Status status = co_await request.all();
    if (!status.ok()) co_return status;
    HR_CO_TRY(combine(call, mine, other));
    std::swap(mine, other);
  }
  if (mine.address != home.address) HR_CO_TRY(layout::copy(mine, home));
  co_return kOk;
}

Task delegate_to_pair(const Call& call, View vector) {
  const int other = call.rank() + 1;
  Requests<1> request;
  HR_CO_TRY(send_to(call, other, vector, request.next()));
  const Status sent = co_await request.all();
  if (!sent.ok()) co_return sent;
  HR_CO_TRY(receive_from(call, other, vector, request.next()));
  const Status received = co_await request.all();
  co_return received;
}

Task receive_and_reduce(const Call& call, View own, View result) {
  const int peers = call.peers();
  TypedScratch room(result.count, *result.type);
  View mine = result;
  View other = room.view();
  Requests<1> request;
  // Runs from the last rank down, because combine() stores its result in the right operand.
  for (int peer = peers - 1; peer >= 0; --peer) {
    const bool first = peer == peers - 1;
    const View& target = first ? mine : other;
    if (peer == call.own_peer()) {
      HR_CO_TRY(layout::copy(own, target));
    } else {
      HR_CO_TRY(receive_from(call, peer, target, request.next()));
      const Status status = co_await request.all();
      if (!status.ok()) co_return status;
    }
    if (!first) HR_CO_TRY(combine(call, other, mine));
  }
  co_return kOk;
}

}  // namespace hr::coll

// Allreduce by Rabenseifner's algorithm: a reduce-scatter by recursive halving, then an allgather by recursive
// doubling. In its 2 log2 p exchanges, each process sends less than twice the vector. If p is not a power of two, the
// first processes form pairs: the even one sends its vector to the odd one and receives the result at the end. Partners
// in the first step are neighbors, so that operands stay in rank order and any operation can be used. For long vectors.
#include <vector>

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

  // Range of elements that this process still works on; `before` stores the range before each step.
  struct Range {
    Count begin, end;
    [[nodiscard]] View of(const View& vector) const noexcept { return slice(vector, begin, end - begin); }
  };
  const int position = doubling.position(rank);
  Range range{0, result.count};
  std::vector<Range> before;
  for (int bit = 1; bit < doubling.power; bit *= 2) {
    const int partner = position ^ bit;
    const int peer = doubling.rank_at(partner);
    const Count middle = range.begin + (range.end - range.begin + 1) / 2;
    const Range first{range.begin, middle};
    const Range second{middle, range.end};
    before.push_back(range);
    range = partner > position ? first : second;
    const Range given = partner > position ? second : first;
    HR_CO_TRY(exchange(call, peer, given.of(mine), peer, range.of(other), requests));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
    if (partner < position) {
      HR_CO_TRY(combine(call, range.of(other), range.of(mine)));
    } else {
      HR_CO_TRY(combine(call, range.of(mine), range.of(other)));
      std::swap(mine, other);
    }
  }
  if (mine.address != result.address) HR_CO_TRY(layout::copy(range.of(mine), range.of(result)));

  for (int bit = doubling.power / 2; bit > 0; bit /= 2) {
    const int peer = doubling.rank_at(position ^ bit);
    const Range whole = before.back();
    before.pop_back();
    const Range wanted = range.begin == whole.begin ? Range{range.end, whole.end} : Range{whole.begin, range.begin};
    HR_CO_TRY(exchange(call, peer, range.of(result), peer, wanted.of(result), requests));
    const Status status = co_await requests.all();
    if (!status.ok()) co_return status;
    range = whole;
  }
  if (rank < paired) {
    HR_CO_TRY(send_to(call, rank - 1, result, requests.next()));
    const Status sent = co_await requests.all();
    if (!sent.ok()) co_return sent;
  }
  co_return kOk;
}

}  // namespace

const Algorithm allreduce_rabenseifner = {"rabenseifner", serves(Operation::kAllreduce), &intra, &run};

}  // namespace hr::coll

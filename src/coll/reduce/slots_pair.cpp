// Reduce of long vectors of two processes: the other process writes its vector into its data slots, and the root
// combines it with its own. With more processes, the root would have too much work.
#include <algorithm>

#include "coll/reduction.hpp"
#include "coll/registry.hpp"
#include "coll/shared/data_slots.hpp"

namespace hr::coll {
namespace {

// Maximum number of bytes per round, so that they stay in the core's nearest cache while the next ones are written.
constexpr std::size_t kMost = 32768;

bool probe(const Query& query) noexcept {
  return has_data_slots(query) && query.ranks == 2 && query.commutative && query.element <= query.data_slot_bytes;
}

Task run(const Call& call) {
  const View& vector = contribution(call);
  const std::size_t room = call.segment->data_slot_bytes();
  const std::size_t total = typed_bytes(vector.count, *vector.type);
  const std::size_t most =
      shared::piece_size(call, total, call.segment->oversubscribed() ? room : std::min(kMost, room));
  const Count elements = std::max<Count>(1, typed_capacity(most, *vector.type));
  const shared::Rounds rounds(call, static_cast<std::uint64_t>((vector.count + elements - 1) / elements),
                              typed_bytes(elements, *vector.type));
  const int other = 1 - call.root;
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    const Count begin = static_cast<Count>(round) * elements;
    const Count count = std::min(elements, vector.count - begin);
    const View own = slice(vector, begin, count);
    const View data_slot = typed_view(rounds.data_slot(other, round), count, *vector.type);
    if (call.is_root()) {
      shared::StepReached written = rounds.written(other, round + 1);
      HR_CO_UNTIL(call, written);
      HR_CO_TRY(combine_to(call, data_slot, own, slice(call.recv.all(), begin, count)));
      rounds.took(round + 1);
    } else {
      shared::Rounds::Writable writable = rounds.writable(round);
      HR_CO_UNTIL(call, writable);
      HR_CO_TRY(layout::copy(own, data_slot));
      rounds.wrote(round + 1);
    }
  }
  co_return kOk;
}

}  // namespace

const Algorithm reduce_slots_pair = {"slots_pair", serves(Operation::kReduce), &probe, &run, Sharing::kDataSlots};

}  // namespace hr::coll

// Broadcast through the root's slots: the root fills one while the others empty the ones before.
#include "coll/shared/slots.hpp"

#include <algorithm>

#include "coll/registry.hpp"
#include "coll/shared/copy.hpp"

namespace hr::coll {
namespace {

// What a core has at hand while it writes the next one.
constexpr std::size_t kMost = 32768;

Task run(const Call& call) {
  const View& data = call.recv.all();
  const std::size_t room = call.area->slot_bytes();
  const std::size_t most = shared::piece_size(call, call.bytes, call.area->crowded() ? room : std::min(kMost, room));
  const shared::Rounds rounds(call, shared::rounds_of(call.bytes, most));
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    const shared::Piece piece = shared::piece_of(data.packed, most, round);
    std::byte* slot = rounds.slot(call.root, round);
    if (call.is_root()) {
      shared::Rounds::Writable writable = rounds.writable(round);
      HR_CO_UNTIL(call, writable);
      if (round == 0) rounds.set_note(data.packed);
      HR_CO_TRY(shared::pack_in(data, piece.begin, piece.bytes, slot));
      rounds.wrote(round + 1);
    } else {
      shared::StepReached written = rounds.written(call.root, round + 1);
      HR_CO_UNTIL(call, written);
      if (rounds.note(call.root) > data.packed) {
        co_return fail(Errc::kTruncate, "the root broadcasts %llu bytes, this process has room for %zu",
                       static_cast<unsigned long long>(rounds.note(call.root)), data.packed);
      }
      HR_CO_TRY(layout::unpack(data, piece.begin, piece.bytes, slot));
      rounds.took(round + 1);
    }
  }
  co_return kOk;
}

}  // namespace

const Algorithm bcast_slots = {"slots", serves(Operation::kBcast), &has_slots, &run, Sharing::kSlots};

}  // namespace hr::coll

// Broadcast through slots: the root fills one while the others empty the ones before.
//   slots       everybody takes from the root's
//   slots_tree  one process in each memory and each cache takes from the root's, puts it into slots of its own, and its
//               neighbours take it from there, so that it crosses each link between caches and memories once
#include "coll/shared/slots.hpp"

#include <algorithm>

#include "coll/registry.hpp"
#include "coll/shared/copy.hpp"

namespace hr::coll {
namespace {

// What a core has at hand while it writes the next one.
constexpr std::size_t kMost = 32768;
// The note of a process that hands on and could not.
constexpr std::uint64_t kBroken = ~std::uint64_t{0};

struct Place {
  int parent;   // from whose slots this process takes
  bool relays;  // others take from its own
};

Status check_note(const Call& call, std::uint64_t note, const Place& place) {
  const View& data = call.recv.all();
  if (note <= data.packed) [[likely]]
    return kOk;
  if (note == kBroken) {
    return fail(Errc::kOther, "bcast: rank %d, which hands the data on to this process, could not take it",
                place.parent);
  }
  return fail(Errc::kTruncate, "the root broadcasts %llu bytes, this process has room for %zu",
              static_cast<unsigned long long>(note), data.packed);
}

Task give(const Call& call, const shared::Rounds& rounds, std::size_t most) {
  const View& data = call.recv.all();
  rounds.took(rounds.count());  // it needs nothing of those who hand on
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    const shared::Piece piece = shared::piece_of(data.packed, most, round);
    shared::Rounds::Writable writable = rounds.writable(round);
    HR_CO_UNTIL(call, writable);
    if (round == 0) rounds.set_note(data.packed);
    HR_CO_TRY(shared::pack_in(call, data, piece.begin, piece.bytes, rounds.slot(call.rank(), round)));
    rounds.wrote(round + 1);
  }
  co_return kOk;
}

Task take(const Call& call, const shared::Rounds& rounds, std::size_t most, Place place) {
  const View& data = call.recv.all();
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    const shared::Piece piece = shared::piece_of(data.packed, most, round);
    shared::StepReached written = rounds.written(place.parent, round + 1);
    HR_CO_UNTIL(call, written);
    const std::uint64_t note = rounds.note(place.parent);
    HR_CO_TRY(check_note(call, note, place));
    const std::byte* from = rounds.slot(place.parent, round);
    if (place.relays) {
      shared::Rounds::Writable writable = rounds.writable(round);
      HR_CO_UNTIL(call, writable);
      if (round == 0) rounds.set_note(note);
      std::byte* const own = rounds.slot(call.rank(), round);
      shared::copy_in_near(own, from, piece.bytes);
      rounds.wrote(round + 1);
      from = own;
    }
    HR_CO_TRY(layout::unpack(data, piece.begin, piece.bytes, from));
    rounds.took(round + 1);
  }
  co_return kOk;
}

Task broadcast(const Call& call, Place place) {
  const std::size_t room = call.area->slot_bytes();
  const std::size_t most = shared::piece_size(call, call.bytes, call.area->crowded() ? room : std::min(kMost, room));
  const shared::Rounds rounds(call, shared::rounds_of(call.bytes, most), most);
  Task task = call.is_root() ? give(call, rounds, most) : take(call, rounds, most, place);
  const Status status = co_await task;
  // Before the others are told, as these rounds end, that they need not wait any longer.
  if (!status.ok() && place.relays) rounds.set_note(kBroken);
  co_return status;
}

Task run(const Call& call) { return broadcast(call, {call.root, false}); }

Task run_tree(const Call& call) {
  const shared::Teams& teams = call.area->teams();
  return broadcast(call, {teams.parent(call.rank(), call.root), teams.relays(call.rank(), call.root)});
}

bool probe_tree(const Query& query) noexcept {
  return has_slots(query) && query.teams > 1 && query.teams < query.ranks;
}

}  // namespace

const Algorithm bcast_slots = {"slots", serves(Operation::kBcast), &has_slots, &run, Sharing::kSlots};
const Algorithm bcast_slots_tree = {"slots_tree", serves(Operation::kBcast), &probe_tree, &run_tree, Sharing::kSlots};

}  // namespace hr::coll

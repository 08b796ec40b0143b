// Broadcast through data slots: the root writes one slot while the others read the previous ones.
#include <algorithm>

#include "coll/registry.hpp"
#include "coll/shared/data_slots.hpp"

namespace hr::coll {
namespace {

// Maximum number of bytes per round, so that they stay in the core's nearest cache while the next ones are written.
constexpr std::size_t kMost = 32768;

Task give(const Call& call, const shared::Rounds& rounds, std::size_t most) {
  const View& data = call.recv.all();
  rounds.took(rounds.count());  // the root reads nothing from the others
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    const shared::Piece piece = shared::piece_of(data.packed, most, round);
    shared::Rounds::Writable writable = rounds.writable(round);
    HR_CO_UNTIL(call, writable);
    if (round == 0) rounds.set_note(data.packed);
    HR_CO_TRY(layout::pack(data, piece.begin, piece.bytes, rounds.data_slot(call.rank(), round)));
    rounds.wrote(round + 1);
  }
  co_return kOk;
}

Task take(const Call& call, const shared::Rounds& rounds, std::size_t most) {
  const View& data = call.recv.all();
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    const shared::Piece piece = shared::piece_of(data.packed, most, round);
    shared::StepReached written = rounds.written(call.root, round + 1);
    HR_CO_UNTIL(call, written);
    if (const std::uint64_t note = rounds.note(call.root); note > data.packed) [[unlikely]] {
      co_return fail(Errc::kTruncate, "the root broadcasts %llu bytes, this process has room for %zu",
                     static_cast<unsigned long long>(note), data.packed);
    }
    HR_CO_TRY(layout::unpack(data, piece.begin, piece.bytes, rounds.data_slot(call.root, round)));
    rounds.took(round + 1);
  }
  co_return kOk;
}

Task run(const Call& call) {
  const std::size_t room = call.segment->data_slot_bytes();
  const std::size_t most =
      shared::piece_size(call, call.bytes, call.segment->oversubscribed() ? room : std::min(kMost, room));
  const shared::Rounds rounds(call, shared::rounds_of(call.bytes, most), most);
  Task task = call.is_root() ? give(call, rounds, most) : take(call, rounds, most);
  const Status status = co_await task;
  co_return status;
}

}  // namespace

const Algorithm bcast_slots = {"slots", serves(Operation::kBcast), &has_data_slots, &run, Sharing::kDataSlots};

}  // namespace hr::coll

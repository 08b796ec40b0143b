#include "coll/shared/direct.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/statistics.hpp"
#include "p2p/peer_memory.hpp"

namespace hr::coll::shared {

void expose(const Call& call, const Exposed& own) {
  std::memcpy(data_in(own_cell(call), call, sizeof own), &own, sizeof own);
  publish(call, sizeof own);
}

Exposed exposed_by(const Call& call, int rank) {
  Exposed exposed;
  std::memcpy(&exposed, data_in(cell_of(call, rank), call, sizeof exposed), sizeof exposed);
  return exposed;
}

bool all_readable(const Call& call, bool recv) {
  for (int rank = 0; rank < call.size(); ++rank) {
    const Exposed exposed = exposed_by(call, rank);
    if (exposed.send == 0 || (recv && exposed.recv == 0)) return false;
  }
  return true;
}

Status read_from(const Call& call, int rank, std::uint64_t address, const View& to) {
  const int proc = call.comm->peer_proc(rank);
  if (readable_address(to) != 0) return p2p::read_peer_memory(proc, address, to.data(), to.packed);
  constexpr std::size_t kPiece = 65536;
  Scratch scratch(std::min(kPiece, to.packed));
  for (std::size_t done = 0; done < to.packed; done += kPiece) {
    const std::size_t bytes = std::min(kPiece, to.packed - done);
    HR_TRY(p2p::read_peer_memory(proc, address + done, scratch.data(), bytes));
    HR_TRY(layout::unpack(to, done, bytes, scratch.data()));
  }
  return kOk;
}

Status read_blocks(const Call& call, int block) {
  for (int step = 1; step < call.size(); ++step) {
    const int from = (call.rank() + step) % call.size();
    const Exposed exposed = exposed_by(call, from);
    View to;
    HR_TRY(call.recv.block(from, &to));
    if (exposed.bytes != to.packed) {
      return fail(Errc::kTruncate, "rank %d sends %llu bytes where this process expects %zu", from,
                  static_cast<unsigned long long>(exposed.bytes), to.packed);
    }
    HR_TRY(read_from(call, from, exposed.send + exposed.bytes * static_cast<std::uint64_t>(block), to));
  }
  return kOk;
}

namespace {

// What a process says of its reading.
constexpr std::uint64_t kRefused = 1;  // the system did not let it
constexpr std::uint64_t kPays = 2;     // as far as its turns tell (reading_turns.hpp)

// Where, for each word: in its cell, which others look at in this operation only.
std::uint64_t& report_of(const Call& call, int rank, Word Control::* word) {
  return reinterpret_cast<std::uint64_t*>(cell_of(call, rank).room)[word == &Control::published ? 0 : 1];
}

}  // namespace

Task conclude(const Call& call, const Steps& steps, Word Control::* word, Status status, bool* everywhere) {
  const bool refused = status.errc() == Errc::kUnsupportedOperation;
  std::string detail = status.ok() ? std::string{} : take_detail();  // others run while this waits
  ReadingTurns& turns = call.area->reading_turns();
  report_of(call, call.rank(), word) = (refused ? kRefused : 0) | (turns.votes(call.operation, call.bytes) ? kPays : 0);
  steps.tell(word, 1);
  StepsReached told{steps, word, 1};
  HR_CO_UNTIL(call, told);
  *everywhere = true;
  int votes = 0;
  for (int rank = 0; rank < call.size(); ++rank) {
    const std::uint64_t report = report_of(call, rank, word);
    if ((report & kRefused) != 0) *everywhere = false;
    if ((report & kPays) != 0) ++votes;
  }
  turns.decide(call.operation, call.bytes, *everywhere && 2 * votes > call.size());
  if (*everywhere && word == &Control::consumed) add(Statistic::coll_read);
  // Else all go the other way, this process too, which finds its error again: who left would be waited for there.
  if (!*everywhere || status.ok()) co_return kOk;
  set_detail(std::move(detail));
  co_return status;
}

Task read_or_else(const Call& call, ByReading how) {
  CellFree free{call};
  HR_CO_UNTIL(call, free);
  if (!how.from_root || call.is_root()) expose(call, how.own);
  Status status = copy_block(call.send, how.block, call.recv, call.rank());  // while others arrive
  std::string detail = status.ok() ? std::string{} : take_detail();
  CellsArrived arrived = how.from_root ? CellsArrived{call, call.root, call.root + 1} : others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  if (!how.from_root) call.area->seen_everybody(call.ticket);
  bool done = how.from_root ? exposed_by(call, call.root).send != 0 : all_readable(call, false);
  if (done) {
    const Steps steps(call);
    if (status.ok()) {
      status = how.read(call, how.block);
    } else {
      set_detail(std::move(detail));
    }
    Task concluding = conclude(call, steps, &Control::consumed, status, &done);
    HR_CO_TRY(co_await concluding);
  }
  if (done) co_return kOk;
  Task other = how.otherwise.run(call);
  const Status slots = co_await other;
  co_return slots;
}

}  // namespace hr::coll::shared

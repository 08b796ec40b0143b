#include "coll/shared/readable.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "p2p/peer_memory.hpp"
#include "p2p/progress.hpp"

namespace hr::coll::shared {
namespace {

constexpr int kTrials = 4;
// What the members agree upon.
constexpr std::uint64_t kPossible = 1;
constexpr std::uint64_t kFaster = 2;
constexpr std::uint64_t kAsked = 4;
// Where processes have cores of their own, reading may take so many times as long as the copies that are timed: these
// find all in the own cache, and in an operation they come in rounds that wait for one another, where one read takes a
// whole block.
constexpr double kRoundsCost = 2;

struct Seconds {
  double copies = std::numeric_limits<double>::infinity();
  double reading = std::numeric_limits<double>::infinity();
};

// The least of some trials: what another process did meanwhile is not this way's fault. False when it cannot be read.
bool measure(int next, std::uint64_t address, std::byte* own_slot, const std::byte* next_slot,
             std::vector<std::byte>& memory, Seconds* least) {
  std::vector<std::byte> target(memory.size());
  for (int trial = 0; trial < kTrials; ++trial) {
    const double start = now_seconds();
    std::memcpy(own_slot, memory.data(), memory.size());
    std::memcpy(target.data(), next_slot, memory.size());
    const double copied = now_seconds();
    if (!p2p::read_peer_memory(next, address, target.data(), target.size()).ok()) {
      static_cast<void>(take_detail());
      return false;
    }
    least->copies = std::min(least->copies, copied - start);
    least->reading = std::min(least->reading, now_seconds() - copied);
  }
  return true;
}

}  // namespace

p2p::Task try_reading(comm::Members members, std::byte* own_slot, const std::byte* next_slot, std::size_t bytes,
                      Reading* verdict) {
  std::vector<std::byte> memory(bytes, std::byte{1});
  std::vector<std::uint64_t> addresses(static_cast<std::size_t>(members.size));
  const auto own = reinterpret_cast<std::uint64_t>(memory.data());
  p2p::Task gathering = comm::allgather(members, &own, sizeof own, reinterpret_cast<std::byte*>(addresses.data()));
  HR_CO_TRY(co_await gathering);
  const int next = members.me + 1 < members.size ? members.me + 1 : 0;
  Seconds seconds;
  const bool possible =
      measure(members.procs[next], addresses[static_cast<std::size_t>(next)], own_slot, next_slot, memory, &seconds);
  const double copies = (p2p::more_processes_than_cores() ? 1 : kRoundsCost) * seconds.copies;
  const bool asked = knobs().shm_single_copy == ShmSingleCopyChoice::kOn;
  std::uint64_t facts =
      possible ? kPossible | (asked || seconds.reading < copies ? kFaster : 0) | (asked ? kAsked : 0) : 0;
  p2p::Task agreeing = comm::and_reduce(members, &facts, 1);  // and nobody reads `memory` any more
  HR_CO_TRY(co_await agreeing);
  *verdict = (facts & kAsked) != 0      ? Reading::kAsked
             : (facts & kFaster) != 0   ? Reading::kFaster
             : (facts & kPossible) != 0 ? Reading::kPossible
                                        : Reading::kNone;
  co_return kOk;
}

}  // namespace hr::coll::shared

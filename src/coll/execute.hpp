// Executes an operation, in any of its forms: chooses the algorithm and runs it, with host copies of device buffers
// where the algorithm needs them.
//
// Threads: library lock.
#pragma once

#include <optional>

#include "coll/algorithm.hpp"
#include "coll/shared/segment.hpp"

namespace hr::coll {

// True if the operation moves no data on any process.
[[nodiscard]] bool nothing_to_do(const Call& call) noexcept;

// Returns the number of blocks that the arrays of a buffer describe.
[[nodiscard]] int length_of(const Call& call, const Blocks& blocks);

// Kind of a buffer's data, determined by the first block that is not empty.
enum class DataKind : std::uint8_t { kNothing, kHostData, kDeviceData };
[[nodiscard]] DataKind data_kind_of(const Call& call, const Blocks& blocks);
// Returns the location of the buffer's first data; nothing if it has none.
[[nodiscard]] std::optional<mem::Location> location_of(const Call& call, const Blocks& blocks);

// True if GPUs never execute the operation. An alltoall in place would overwrite data that others still have to read.
[[nodiscard]] bool never_on_devices(const Call& call) noexcept;

// done: the operation began with an exchange of device addresses. agreed: the outcome of that exchange.
struct AddressExchange {
  bool done = false;
  bool agreed = false;
};

// Returns the algorithm for the call; null if there is an error, which is in *status.
[[nodiscard]] const Algorithm* choose(const Call& call, Status* status, AddressExchange exchange = {});
// choose() for a call whose choice is not kept with its members' plans.
[[nodiscard]] const Algorithm* choose_apart(const Call& call, Status* status);
// Executes the call with the algorithm; both must outlive the task. `buffers`: with kInPlace, the task uses the
// program's device data where it is (reductions: host copies, unless the algorithm works on devices); with kPinned,
// pinned copies.
enum class Buffers : std::uint8_t { kInPlace, kPinned };
[[nodiscard]] p2p::Task execute(const Call& call, const Algorithm* algorithm, Buffers buffers = Buffers::kInPlace);
// Executes the call without shared memory.
[[nodiscard]] p2p::Task execute_by_messages(const Call& call);

// Enqueues an operation in the sequence of its members, if they share memory. execute_enqueued() then executes it,
// blocking or non-blocking; the returned task waits for the operation's turn. Steps of compositions also use both
// (compose/step.hpp).
void enqueue(Call& call);
[[nodiscard]] p2p::Task execute_enqueued(const Call& call);

// An operation's turn in its segment (shared/segment.hpp). The turn ends with the guard's scope, if it has not ended
// before.
class TurnGuard {
 public:
  explicit TurnGuard(const Call& call) noexcept : segment_(*call.segment), sequence_number_(call.sequence_number) {}
  TurnGuard(const TurnGuard&) = delete;
  TurnGuard& operator=(const TurnGuard&) = delete;
  ~TurnGuard() { end_turn(); }
  void end_turn() noexcept { segment_.end_turn(sequence_number_); }

 private:
  shared::Segment& segment_;
  std::uint64_t sequence_number_;
};

}  // namespace hr::coll

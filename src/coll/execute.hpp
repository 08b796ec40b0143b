// Executes an operation, in any of its forms: chooses the algorithm and runs it, with host copies of device buffers
// where the algorithm needs them.
//
// Threads: library lock.
#pragma once

#include "coll/algorithm.hpp"
#include "coll/shared/area.hpp"

namespace hr::coll {

// True if nothing moves on any process of this operation.
[[nodiscard]] bool nothing_to_do(const Call& call) noexcept;

// Returns the number of blocks that the arrays of a buffer describe.
[[nodiscard]] int length_of(const Call& call, const Blocks& blocks);

// Kind of memory of a buffer, as far as its first block with data says.
enum class Holds : std::uint8_t { kNothing, kHostData, kDeviceData };
[[nodiscard]] Holds what_is_in(const Call& call, const Blocks& blocks);

// True if GPUs never do it. An alltoall in place would overwrite data that others have still to read.
[[nodiscard]] bool never_on_devices(const Call& call) noexcept;

// done: the operation began with an exchange of device addresses. agreed: its outcome.
struct AddressExchange {
  bool done = false;
  bool agreed = false;
};

// Null: the error is in *status.
[[nodiscard]] const Algorithm* choose(const Call& call, Status* status, AddressExchange exchange = {});
// `algorithm` outlives the task, as `call` does. `buffers`: the task uses data on devices where the program has it
// (reductions: in host copies, unless the algorithm works on devices), or in pinned copies.
enum class Buffers : std::uint8_t { kInPlace, kPinned };
[[nodiscard]] p2p::Task execute(const Call& call, const Algorithm* algorithm, Buffers buffers = Buffers::kInPlace);
// Executes the call without memory that the processes share.
[[nodiscard]] p2p::Task execute_by_messages(const Call& call);

// Enqueues an operation in the sequence of its members, if they share memory. execute_enqueued() then executes it,
// blocking or non-blocking: its task waits for the operation's turn. Steps of compositions use both, too
// (compose/step.hpp).
void enqueue(Call& call);
[[nodiscard]] p2p::Task execute_enqueued(const Call& call);

// An operation's turn in its area (shared/area.hpp). Ends when this goes out of scope, at the latest.
class TicketGuard {
 public:
  explicit TicketGuard(shared::Area& area) noexcept : area_(&area) {}
  TicketGuard(const TicketGuard&) = delete;
  TicketGuard& operator=(const TicketGuard&) = delete;
  ~TicketGuard() { leave(); }
  void leave() noexcept {
    if (area_ != nullptr) area_->leave();
    area_ = nullptr;
  }

 private:
  shared::Area* area_;
};

}  // namespace hr::coll

// Carrying out: what the forms of an operation share. Which algorithm, with host copies of device buffers where it
// needs them.
//
// Threads: library lock.
#pragma once

#include "coll/algorithm.hpp"
#include "coll/shared/area.hpp"

namespace hr::coll {

// Nothing moves on any process of this operation.
[[nodiscard]] bool nothing_to_do(const Call& call) noexcept;

// How many blocks the arrays of a buffer describe.
[[nodiscard]] int length_of(const Call& call, const Blocks& blocks);

// Where a buffer is, as far as its first block with data says.
enum class Holds : std::uint8_t { kNothing, kHostData, kDeviceData };
[[nodiscard]] Holds what_is_in(const Call& call, const Blocks& blocks);

// GPUs never do it. An alltoall in place would overwrite what others have still to read.
[[nodiscard]] bool never_on_devices(const Call& call) noexcept;

// Whether the operation began with an exchange of device buffers, and what came of it.
struct DeviceMode {
  bool on = false;
  bool agreed = false;
};

// nullptr with the error in *status.
[[nodiscard]] const Algorithm* choose(const Call& call, Status* status, DeviceMode mode = {});
// `algorithm` outlives the task, as `call` does. Where the buffers of device data are when it runs: where the program
// has them (reductions: in host copies, unless the algorithm works on devices), or in pinned copies.
enum class Buffers : std::uint8_t { kInPlace, kPinned };
[[nodiscard]] p2p::Task carry_out(const Call& call, const Algorithm* algorithm, Buffers buffers = Buffers::kInPlace);
// Without memory that the processes share.
[[nodiscard]] p2p::Task carry_out_by_messages(const Call& call);

// Gives an operation its place in the sequence of its members, where they share memory; then carries it out, blocking
// or non-blocking: a task that need not start when its ticket is served. Steps of compositions, too (compose/step.hpp).
void take_place(Call& call);
[[nodiscard]] p2p::Task perform(const Call& call);

// An operation's turn in its area (shared/area.hpp). Gives it up when it goes out of scope, at the latest.
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

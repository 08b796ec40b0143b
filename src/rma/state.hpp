// State of rma while MPI is in use, from init() to finalize(). Internal to rma/. Threads: library lock.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/layer_state.hpp"
#include "base/list.hpp"
#include "p2p/progress.hpp"
#include "rma/describe.hpp"
#include "rma/origin.hpp"
#include "rma/serve.hpp"
#include "rma/window.hpp"

namespace hr::rma {

// Table of operations by cookie. Any number in a message is safe to look up: find() returns null if it is not a valid
// cookie.
class Cookies {
 public:
  // Never returns 0.
  [[nodiscard]] std::uint64_t give(OriginOperation& operation);
  [[nodiscard]] OriginOperation* find(std::uint64_t cookie) const noexcept;
  void take_back(std::uint64_t cookie);

 private:
  struct Slot {
    OriginOperation* operation = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

struct State {
  std::unordered_map<std::uint32_t, Window*> windows;  // by context
  // `started`: operations with pending data messages, which every round of progress checks. `asked`: operations that
  // only need an answer; there may be very many of them.
  IntrusiveList<OriginOperation, &OriginOperation::link> started;
  IntrusiveList<OriginOperation, &OriginOperation::link> asked;
  std::size_t started_count = 0;
  Cookies cookies;  // cookies of the operations in both lists
  IntrusiveList<Service, &Service::link> services;
  std::list<LockWaiter> lock_waiters;
  MadeTypes made_types;
  std::uint64_t files_made = 0;  // number of shared memory files created; part of their names
  bool sharing_failed = false;   // true once a failure to share memory has been logged
  p2p::PolledWait polled;

  // Returns the window with this context; nullptr if there is none.
  [[nodiscard]] Window* find(std::uint32_t context) const noexcept {
    const auto found = windows.find(context);
    return found == windows.end() ? nullptr : found->second;
  }
};

// Null before init() and after finalize().
extern LayerState<State> state;

// Returns the window of a message; nullptr if there is none, or if the sender is not the member that the message names.
// The message is then dropped.
[[nodiscard]] Window* window_of(int from, const transport::Header& header) noexcept;

// Registers the progress hook of rma/, which stays until there is nothing left to do.
void watch();

}  // namespace hr::rma

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

// Operations that an answer may name: any number that comes as a cookie is one of these or none.
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
  // Operations with messages of data under way, which progress looks at; and those that an answer ends, of which there
  // may be very many.
  IntrusiveList<OriginOperation, &OriginOperation::link> started;
  IntrusiveList<OriginOperation, &OriginOperation::link> asked;
  std::size_t started_count = 0;
  Cookies cookies;  // of both
  IntrusiveList<Service, &Service::link> services;
  std::list<LockWaiter> lock_waiters;
  MadeTypes made_types;
  std::uint64_t files_made = 0;  // of shared memory, by this process: part of their names
  bool sharing_failed = false;   // and that was noted
  p2p::PolledWait polled;

  // Returns the window of that context; nullptr: there is none (any more).
  [[nodiscard]] Window* find(std::uint32_t context) const noexcept {
    const auto found = windows.find(context);
    return found == windows.end() ? nullptr : found->second;
  }
};

// Null outside of init() and finalize().
extern LayerState<State> state;

// Returns the window that a message is about, if its sender is the member that it names; nullptr: there is none (any
// more), or the message was dropped.
[[nodiscard]] Window* window_of(int from, const transport::Header& header) noexcept;

// Makes advance() a hook until progress has nothing left to look after.
void watch();

}  // namespace hr::rma

// Operations and locks that others ask for by messages, executed here (MPI 5.0 section 12.7.3, progress). Internal to
// rma/.
//
// An operation is done in the handler of its message if all it needs has come with it; else when that has come.
// Accumulates of one origin are applied in the order they came (accumulate_ordering, section 12.7.2).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/list.hpp"
#include "p2p/task.hpp"
#include "rma/window.hpp"
#include "rma/wire.hpp"

namespace hr::rma {

// Owner: the state's list, until it is answered.
struct Service {
  Link link;
  Ref<Window> window;
  int rank = 0;  // the origin's
  std::uint64_t cookie = 0;
  wire::Head head;
  std::vector<std::byte> description;
  std::vector<std::byte> data;
  std::vector<std::byte> result;
  Ref<layout::Datatype> type;
  layout::View target;
  std::uint32_t turn = 0;  // of an accumulate
  p2p::Task task;
};

// A request for a lock that was not free.
struct LockWaiter {
  Ref<Window> window;
  int rank;  // the process that asks
  bool exclusive;
  bool waits = false;  // LockWord::try_exclusive()
};

void take_operation(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes);
void take_lock(Window& window, const transport::Header& header);
// Handles the release of a lock that was granted to that member by a message.
void take_unlock(Window& window, const transport::Header& header);
// Returns true if something moved.
bool advance_services();
// Grants locks that are free by now. True if there was one.
bool grant_locks();
// Called before the window goes.
void forget_services(const Window& window);

}  // namespace hr::rma

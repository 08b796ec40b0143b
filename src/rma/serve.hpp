// Executes operations and grants locks that other processes request with messages (MPI 5.0 section 12.7.3, progress).
// Internal to rma/.
//
// An operation is executed in the handler of its message if the message contains all data; otherwise when the data has
// arrived. Accumulates from one origin are applied in order of arrival (accumulate_ordering, section 12.7.2).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/list.hpp"
#include "p2p/task.hpp"
#include "rma/window.hpp"
#include "rma/wire.hpp"

namespace hr::rma {

// An operation being executed for an origin. Owner: the state's list, until it is answered.
struct Service {
  Link link;
  Ref<Window> window;
  int rank = 0;  // rank of the origin
  std::uint64_t cookie = 0;
  wire::Head head;
  std::vector<std::byte> description;
  std::vector<std::byte> data;
  std::vector<std::byte> result;
  Ref<layout::Datatype> type;
  layout::View target;
  std::uint32_t turn = 0;  // position of an accumulate in the origin's order
  p2p::Task task;
};

// A request for a lock that was not free.
struct LockWaiter {
  Ref<Window> window;
  int rank;  // rank of the requester
  bool exclusive;
  bool waits = false;  // see LockWord::try_exclusive()
};

void take_operation(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes);
void take_lock(Window& window, const transport::Header& header);
// Handles the release of a lock that was granted to a member with a message.
void take_unlock(Window& window, const transport::Header& header);
// Returns true if it made progress.
bool advance_services();
// Grants requested locks that have become free. Returns true if it granted one.
bool grant_locks();
// Called before the window is destroyed.
void forget_services(const Window& window);

}  // namespace hr::rma

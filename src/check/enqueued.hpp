// Enqueued: operations that the program has enqueued in a stream and the library's thread carries out (enqueue/). They
// are examined when the stream comes to them, not in the call: what the stream does before may change their data.
//
// Matched operations (MPIX_Matchall) run without the library's thread, so only their calls are examined. Internal to
// check/. Owner: the table, from the call that enqueues an operation until it is complete; in a graph, until its
// communicator is freed. Threads: library lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/operations.hpp"
#include "p2p/request.hpp"

namespace hr::check {

struct Enqueued {
  Operation operation;
  const p2p::Request* inner = nullptr;  // while it is in progress
  bool captured = false;
  std::vector<std::uint64_t> allocations;                       // of the buffers
  std::string mismatch;                                         // of the message that it received
  std::optional<std::pair<std::uint32_t, std::uint64_t>> call;  // a collective: context and sequence (collectives.hpp)
};

// Returns the operation whose start is in progress in this thread; null: none.
Enqueued* starting_enqueued() noexcept;
// Returns the operation that a request carries out; null: none.
Enqueued* enqueued_by(const p2p::Request& request);
// Returns the operation of a request of the program; null: it was not enqueued, or is complete.
const Enqueued* enqueued_for(const void* request);
// Returns the operations in progress on the communicator with this context (0: on all).
std::vector<const Enqueued*> enqueued_in_progress(std::uint32_t context);

// True if a stream may still come to an operation: what this process's calls wait for may then happen without them.
bool streams_go_on();

// Completes the persistent operations of a call that makes a stream wait for them: the program may start them again,
// whether or not the stream has come to the wait. Called in leave().
void complete_waited(Call& call);

// Checks the buffers of a call against those of operations that streams have not completed. A call on a communicator
// with a stream is ordered after such operations.
Status check_enqueued(const Call& call, const std::vector<Buffer>& buffers);

}  // namespace hr::check

// The origin's part of operations that use messages or the network: starts them, and completes them when their answers
// arrive. Internal to rma/.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/list.hpp"
#include "layout/view.hpp"
#include "p2p/request.hpp"
#include "rma/window.hpp"
#include "transport/transport.hpp"

namespace hr::rma {

// An operation with a result, a request, or data that follows the message. Owner: the state's list, until the operation
// has ended. The target's answer returns the cookie.
struct OriginOperation {
  Link link;
  Ref<Window> window;
  int rank = 0;
  std::uint64_t cookie = 0;
  layout::View result;
  Ref<layout::Datatype> result_type;
  std::vector<std::byte> description;   // being sent
  std::vector<std::byte> operands;      // being sent, unless the origin's buffer itself is sent
  std::vector<p2p::Request*> requests;  // requests of pending messages
  p2p::Request* incoming = nullptr;     // the request that receives the result
  p2p::Request* program = nullptr;      // the program's request; holds a reference
  // Operation that the network executes (network.hpp), if `owner` is set.
  struct Moving : transport::Operation {
    OriginOperation* owner = nullptr;
  } moving;
  bool answered = false;
  bool moves = false;    // in State::started
  bool counted = false;  // in Member::unsent
  Status status = kOk;
  std::string why;
};

// Handles an answer that has arrived.
void take_answer(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes);
// Ends operations that are complete, and those whose target has failed. Returns true if it made progress.
bool advance_started();
// Waits until another operation may be started at member `rank`.
Status await_room(Window& window, int rank);
// Creates the program's request for an operation.
Status make_program_request(OriginOperation& self, p2p::Request** request);
// Advances an operation, and deletes it when it ends; returns true if it made progress.
bool advance(OriginOperation& self);
// Abandons the operations that the network has not ended; the network may still refer to them. Called before the state
// is destroyed.
void leave_operations();
// Stores a failure for the call that completes the epoch; only the first one is kept.
void note_failure(Window& window, Status status, std::string why);

}  // namespace hr::rma

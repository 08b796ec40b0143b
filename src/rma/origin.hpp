// Operations by messages, as the origin sees them: sent, answered, and over. Internal to rma/.
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

// An operation that waits for more than an answer. Owner: the state's list, until it is over; the target sends its
// cookie back.
struct OriginOperation {
  Link link;
  Ref<Window> window;
  int rank = 0;
  std::uint64_t cookie = 0;
  layout::View result;
  Ref<layout::Datatype> result_type;
  std::vector<std::byte> description;   // being sent
  std::vector<std::byte> operands;      // being sent, if the origin's buffer is not sent itself
  std::vector<p2p::Request*> requests;  // of messages under way
  p2p::Request* incoming = nullptr;     // among them: the result
  p2p::Request* program = nullptr;      // the program's; a reference
  bool answered = false;
  bool moves = false;    // in State::started
  bool counted = false;  // in Member::unsent
  Status status = kOk;
  std::string why;
};

// Handles an answer that has come.
void take_answer(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes);
// Ends operations that are over, and those that a failed process would have answered. True if something moved.
bool advance_started();
// Keeps the first failure for the call that completes the epoch.
void note_failure(Window& window, Status status, std::string why);

}  // namespace hr::rma

// Persistent operations (section 6.13): executes their starts.
//
// Processes may start different requests in different orders, so starts are not enqueued in the communicator's
// sequence. An operation whose buffers are all on devices has its own segment; its buffers stay the same, so the
// decision made at the first start holds for all starts.
// Owner: the request. Threads: library lock.
#pragma once

#include <memory>

#include "coll/shared/segment.hpp"

namespace hr::coll {

class Persistence {
 public:
  // Starts `call`, which must be the same every time.
  p2p::Task begin(Call& call);

 private:
  p2p::Task execute_in_own_segment(const Call& call);

  enum class Way : std::uint8_t { kUnknown, kMessages, kDevices } way_ = Way::kUnknown;
  std::unique_ptr<shared::Segment> segment_;  // null if the operation uses messages
};

}  // namespace hr::coll

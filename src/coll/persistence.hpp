// Persistent operations (section 6.13): executes their starts.
//
// Starts of different requests may come in different orders on different processes, so that they are not enqueued in
// the communicator's sequence. An operation whose buffers all are on devices gets a segment of its own; its buffers
// stay the same, so that the first start decides for all.
// Owner: the request. Threads: library lock.
#pragma once

#include <memory>

#include "coll/shared/segment.hpp"

namespace hr::coll {

class Persistence {
 public:
  // Starts `call`, which is the same one every time.
  p2p::Task begin(Call& call);

 private:
  p2p::Task execute_in_own_segment(const Call& call);

  enum class Way : std::uint8_t { kUnknown, kMessages, kDevices } way_ = Way::kUnknown;
  std::unique_ptr<shared::Segment> segment_;  // null if by messages
};

}  // namespace hr::coll

// Persistent operations (section 6.13): executes their starts.
//
// Processes may start different requests in different orders, so starts are not enqueued in the communicator's
// sequence. An operation that needs shared memory has its own segment, in which its starts are numbered: at the first
// start if all its buffers are on devices, otherwise once it has been started coll_shared_after times, if it has
// claimed memory on all processes. The buffers of a request stay the same, so these decisions hold for all later
// starts; processes agree on them with messages of the request. Owner: the request. Threads: library lock.
#pragma once

#include <memory>

#include "coll/shared/segment.hpp"

namespace hr::coll {

class Persistence {
 public:
  Persistence() = default;
  ~Persistence() { give_back(); }
  Persistence(const Persistence&) = delete;
  Persistence& operator=(const Persistence&) = delete;

  // Called when the request is created. Claims memory for a segment, which a process has for a few requests at once.
  void claim_memory(const Call& call);
  // Starts `call`, which must be the same every time.
  p2p::Task begin(Call& call);

 private:
  enum class Way : std::uint8_t {
    kUnknown,
    kMessagesAtFirst,  // the operation might use shared memory later
    kMessages,
    kSharedMemory,
    kDevices,
  };

  void give_back() noexcept;
  p2p::Task execute_in_own_segment(const Call& call);
  p2p::Task decide_on_devices(const Call& call);
  p2p::Task decide_on_shared_memory(const Call& call);
  p2p::Task execute_on_devices(const Call& call);
  p2p::Task execute_in_shared_memory(const Call& call);

  Way way_ = Way::kUnknown;
  bool claimed_ = false;  // this request may have memory
  int starts_ = 0;
  const Algorithm* algorithm_ = nullptr;      // kSharedMemory: the algorithm, once its part is open
  std::unique_ptr<shared::Segment> segment_;  // null if the operation uses messages
};

}  // namespace hr::coll

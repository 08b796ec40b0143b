// ResidentCopyScope: launches a resident copy kernel (mem/device/resident_copier.hpp) on a GPU while this process waits
// for a message from or to that GPU's memory, to copy this message or the next. Encloses a waiting loop; costs a
// comparison if no GPU memory is involved.
//
// The kernel is launched only after the wait has lasted for a while: a message that has been sent already is fetched
// immediately. A ping-pong program spends its time in the sends, each of which lasts until its receiver has the data,
// and by then the answer has arrived; so sends also launch the kernel. Owner: the waiting call; one at a time, further
// ones (calls within callbacks) do nothing. Threads: library lock, which a waiting loop releases between rounds.
#pragma once

#include "p2p/request.hpp"

namespace hr::p2p {

// Launches the kernel, if it is worthwhile, for a request for which a stream waits but no waiting loop does (enqueue/).
void expect_resident_copy(const Request& pending);

class ResidentCopyScope {
 public:
  explicit ResidentCopyScope(const Request& waited_for) {
    if (waited_for.view_.where.is_device()) [[unlikely]]
      begin(waited_for);
  }
  ~ResidentCopyScope() {
    if (waited_for_ != nullptr) [[unlikely]]
      end();
  }
  ResidentCopyScope(const ResidentCopyScope&) = delete;
  ResidentCopyScope& operator=(const ResidentCopyScope&) = delete;

 private:
  void begin(const Request& waited_for);
  void end();
  static bool look(void* scope);

  const Request* waited_for_ = nullptr;  // null: nothing is launched
  double begun_ = 0;
};

}  // namespace hr::p2p

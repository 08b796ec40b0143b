// Greeting: the question that a process asks another one before it sends anything else to it.
//
// When two processes connect to one another at the same time, the TCP provider of libfabric 2.5 may close the
// connection that the other one uses already, and drop what was sent on it without an error. A process that has
// answered a question uses the same connection as the asker from then on. So a question is repeated until there is an
// answer, and everything else waits for it (Line::held). A question of the other process is an answer, too.
//
// Owner: the peer. Threads: library lock.
#pragma once

#include <algorithm>

namespace hr::transport::ofi {

class Greeting {
 public:
  // True if it is time to ask, or to ask again; counts as asked then.
  [[nodiscard]] bool due(double now) noexcept {
    if (now < next_) return false;
    next_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    return true;
  }
  // True if a question was begun.
  [[nodiscard]] bool begun() const noexcept { return next_ != 0; }

 private:
  static constexpr double kLongestPause = 0.25;

  double next_ = 0;
  double pause_ = 0.005;  // answers come sooner, unless the other process is busy
};

}  // namespace hr::transport::ofi

// Greeting: the query that a process sends to another one before anything else.
//
// When two processes connect to one another at the same time, the TCP provider of libfabric 2.5 may close the
// connection that the other one already uses, and silently drop what was sent on it. A process that has answered a
// query uses the same connection as the sender of the query from then on. So the query is repeated until there is an
// answer, and everything else waits for it (Line::held). A query from the other process also counts as an answer.
//
// Owner: the peer. Threads: library lock.
#pragma once

#include <algorithm>

namespace hr::transport::ofi {

class Greeting {
 public:
  // True if it is time to send or repeat the query, which then counts as sent.
  [[nodiscard]] bool due(double now) noexcept {
    if (now < next_) return false;
    next_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    return true;
  }
  // True if a query has been started.
  [[nodiscard]] bool begun() const noexcept { return next_ != 0; }

 private:
  static constexpr double kLongestPause = 0.25;

  double next_ = 0;
  double pause_ = 0.005;  // answers come sooner, unless the other process is busy
};

}  // namespace hr::transport::ofi

// Callers: connections to a listening socket that have not yet shown that they know its secret.
//
// Anything that can reach the socket may connect. A caller is a Channel whose greeting must be right before anything
// else it sends is processed. It has a second to send the greeting. The number of callers is limited; at the limit, a
// new caller replaces the oldest one, so that silent connections cannot lock out a caller that knows the secret. No
// call waits. Owner: the owner of the socket. Threads: library lock.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <utility>

#include "boot/channel.hpp"

namespace hr::boot {

class Callers {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr double kSeconds = 1;            // time for the secret to arrive
  static constexpr double kLeastSeconds = 0.02;    // time that a caller has before another one may replace it
  static constexpr std::size_t kMostAtOnce = 256;  // maximum number accepted from the socket in one call

  explicit Callers(Channel::Greeting greeting) : greeting_(std::move(greeting)) {}

  // Removes and returns a caller that has sent the secret; null: none so far. listening: a non-blocking
  // socket.
  std::unique_ptr<Channel> next(int listening);
  // Number of callers dropped because they did not send the secret.
  [[nodiscard]] std::size_t dropped() const noexcept { return dropped_; }

 private:
  struct Caller {
    std::unique_ptr<Channel> channel;
    double since;
  };
  enum class Heard { kNothing, kProof, kNoCaller };

  static Heard hear(Caller& caller);
  std::unique_ptr<Channel> hear_all();
  bool make_room();

  Channel::Greeting greeting_;
  std::list<Caller> callers_;  // oldest first
  std::size_t dropped_ = 0;
};

}  // namespace hr::boot

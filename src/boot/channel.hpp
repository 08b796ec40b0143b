// Channel: whole messages over a stream socket, between two processes that have nothing else in common yet.
//
// Used by the leaders of two groups that connect (comm/connect.hpp), before there is a path between them. Nothing
// waits: step() moves what can be moved. A greeting comes first where one is asked for: the other side's must be what
// is expected before a byte behind it is looked at. A message has its length in front, and no more is read than belongs
// to it: the socket may be the program's (MPI_Comm_join). What others claim as a length is limited, and memory is taken
// as bytes arrive.
// Owner: who connects; an own socket is closed with it. Threads: library lock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hr::boot {

class Channel {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} << 20;

  struct Greeting {
    std::string own;       // what this side says; as long as the other side expects
    std::string expected;  // empty: no greeting
    bool first = true;     // this side speaks first; else only to who has greeted well
  };

  // `owned`: closed in the end, and may be told not to wait.
  Channel(int socket, bool owned, Greeting greeting);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(std::string_view message);
  // Errors: MPI_ERR_PORT where the greeting was wrong; MPI_ERR_OTHER: the other side has left, or sent what is no
  // message.
  Status step();
  // Everything said has been written.
  [[nodiscard]] bool flushed() const noexcept { return written_ == out_.size(); }
  [[nodiscard]] bool greeted() const noexcept { return greeting_over_; }
  // Takes the message that has arrived. False: none so far.
  bool take(std::string* message);

 private:
  Status write_some();
  Status read_some();
  Status read_up_to(std::size_t size, bool* whole);

  int socket_;
  bool owned_;
  Greeting greeting_;
  bool greeting_over_ = false;
  bool said_own_ = false;
  std::string out_;
  std::size_t written_ = 0;
  std::string in_;  // the greeting, or a message with its length
  bool whole_ = false;
};

}  // namespace hr::boot

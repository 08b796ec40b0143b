// Channel: whole messages over a stream socket, between two processes that have no other connection yet.
//
// Used by the leaders of two groups that connect (comm/connect.hpp), before any transport connects them. No call
// waits: step() sends and receives as much as possible. A greeting, if any, is sent first, and bytes after the other
// side's greeting are processed only if the greeting is right. A message is preceded by its length, and no byte
// after it is read, as the socket may be the program's (MPI_Comm_join). The length that the other side claims is
// limited, and memory is allocated as bytes arrive. Owner: the side that connects; an owned socket is closed with the
// channel. Threads: library lock.
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
    std::string own;       // this side's greeting, of the length that the other side expects
    std::string expected;  // empty: no greeting
    bool first = true;     // this side sends first; else only after it has verified the other side's greeting
  };

  // `owned`: true if the destructor must close the socket, and the socket may be set non-blocking.
  Channel(int socket, bool owned, Greeting greeting);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(std::string_view message);
  // Sends and receives without waiting. Errors: MPI_ERR_PORT if the greeting was wrong; MPI_ERR_OTHER if the other side
  // has left, or sent something that is not a message.
  Status step();
  // True if all messages have been written.
  [[nodiscard]] bool flushed() const noexcept { return written_ == out_.size(); }
  [[nodiscard]] bool greeted() const noexcept { return greeting_over_; }
  // Returns an arrived message; false if none has arrived.
  bool take(std::string* message);

 private:
  Status write_some();
  Status read_some();
  Status read_up_to(std::size_t size, bool* whole);

  int socket_;
  bool owned_;
  Greeting greeting_;
  bool greeting_over_ = false;
  bool greeting_sent_ = false;
  std::string out_;
  std::size_t written_ = 0;
  std::string in_;  // the other side's greeting, or a length and its message
  bool whole_ = false;
};

}  // namespace hr::boot

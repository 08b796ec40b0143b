// Channel: messages to and from the neighbour above or below in the tree, over two pipes, and checks that the neighbour
// is alive.
//
// Each side sends at least four times within the time that a neighbour may be silent. A neighbour that has been silent
// for longer is given the same time again, up to a bound: TCP retransmits after pauses that double, so data sent over a
// link that was cut for a while arrives after twice that time at the latest. Both times grow with the number of
// runnable threads for each CPU that the neighbour has last reported: on a host with far more ranks than cores, mpiexec
// and the remote shell may have to wait long for a core. Sending never blocks: data that the pipe does not accept is
// queued here, and the queue is bounded because large senders wait for credits (see Message). Owner: Agent or
// RemoteHost. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"
#include "wire/frame.hpp"
#include "wire/message.hpp"

namespace hr::launcher {

class Channel {
 public:
  struct Handlers {
    std::function<void(const Message&)> message;
    // Called once, from the loop, when nothing more will arrive. `cause`: the reason; empty: the other side closed the
    // channel.
    std::function<void(const std::string& cause)> closed;
  };

  // `silence`: time for which a neighbour may be silent. `received`: data that has already arrived.
  Channel(EventLoop& loop, Descriptor reading, Descriptor writing, std::chrono::milliseconds silence, Handlers handlers,
          std::string_view received);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(const Message& message);
  // Sets the time for which a parent may be silent. Its own parent notices the silence as well, and reports it. So this
  // side waits until that has happened: what it ends would otherwise seem to be the cause.
  void set_silence_of_parent(std::chrono::milliseconds silence);
  // Records that the neighbour has been stopped by a signal, or continues. While it is stopped, its silence is not a
  // failure.
  void expect_silence(bool expected);
  // Waits until everything is written, or the limit has passed.
  void flush(std::chrono::milliseconds limit);

 private:
  void read();
  void take(std::string_view bytes);
  void write();
  void tick();
  void close(const std::string& cause);
  [[nodiscard]] int load_factor() const noexcept;
  // Returns the time after which a neighbour that has been silent counts as failed.
  [[nodiscard]] std::chrono::milliseconds patience() const noexcept;
  [[nodiscard]] std::chrono::milliseconds between_ticks() const noexcept;

  EventLoop& loop_;
  Descriptor reading_;
  Descriptor writing_;
  std::chrono::milliseconds silence_;
  std::chrono::milliseconds beyond_{0};  // how much later the neighbour counts as lost
  Handlers handlers_;
  FrameDecoder decoder_;
  std::string queue_;
  std::size_t written_ = 0;  // bytes of queue_ that have been written
  bool writing_watched_ = false;
  bool closed_ = false;
  bool sent_since_tick_ = false;
  bool silence_expected_ = false;
  int load_ = 0;  // runnable threads for each CPU of the neighbour; its earlier reports count less and less
  EventLoop::Clock::time_point heard_;
  EventLoop::Clock::time_point next_tick_;
  EventLoop::TimerId timer_;
  bool closing_ = false;
  EventLoop::TimerId closing_timer_;
};

}  // namespace hr::launcher

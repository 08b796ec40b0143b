// Sleeper: lets threads of this process sleep until a message comes, by whichever transport.
//
// Threads sleep on the first transport that can (Transport::sleep()). An arrival by another that has a descriptor for
// arrivals (Transport::arrivals()) ends the sleep through a thread of ours, the listener: it waits for the descriptors,
// each armed for one event by the thread that goes to sleep, and then wakes the sleepers. While no thread sleeps it
// wakes only once, at the first arrival after a sleep that ended otherwise. It begins with the first sleep that needs
// it. If a transport can neither sleep nor be listened to, sleeps are short.
//
// Owner: the engine. Lifetime: open() when the transports are, close() before they go. Threads: arm() under the library
// lock; sleep() and wake() any, without it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "transport/transport.hpp"

namespace hr::p2p {

class Sleeper {
 public:
  Sleeper() = default;
  ~Sleeper() { close(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  // Called again when there are more transports than before, or fewer; end_listener() comes before one of them goes.
  void open(std::span<transport::Transport* const> transports);
  void close() noexcept;

  [[nodiscard]] bool can_sleep() const noexcept { return first_ != nullptr; }
  // Place of a thread that is about to sleep, whatever open() says meanwhile.
  struct Armed {
    transport::Transport* on;
    std::uint32_t token;
    double limit;  // seconds
  };
  // Empty if something has arrived already. Else one sleep() with the result follows (see Transport::arm()).
  [[nodiscard]] std::optional<Armed> arm();
  void sleep(const Armed& armed, double at_most_seconds);
  // True if a thread is armed or asleep: no transport may go.
  [[nodiscard]] bool in_use() const noexcept { return armed_.load(std::memory_order_acquire) != 0; }
  void wake() noexcept {
    if (first_ != nullptr) first_->wake();
  }
  // Ends the listener until a sleep needs it; also called at the end of a program that does not call MPI_Finalize.
  void end_listener() noexcept;

 private:
  struct Heard {
    transport::Transport* transport;
    std::atomic<bool> armed{false};  // the listener will be told of the next arrival
  };

  // True if the listener is told of arrivals from now on, and nothing has arrived yet.
  bool listen(Heard& to);
  bool start() noexcept;
  void run() noexcept;
  void give_up() noexcept;

  transport::Transport* first_ = nullptr;
  double limit_ = 0;           // seconds
  std::atomic<int> armed_{0};  // threads
  std::vector<std::unique_ptr<Heard>> heard_;
  std::thread listener_;
  pid_t owner_ = 0;  // a forked child has no such thread
  int events_ = -1;  // descriptors that the listener waits for
  int end_ = -1;     // readable: the listener is to end
};

}  // namespace hr::p2p

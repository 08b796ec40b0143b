// Sleeper: lets threads of this process sleep until a message arrives on any transport.
//
// Threads sleep on the first transport that can (Transport::sleep()). An arrival through another transport that has a
// descriptor for arrivals (Transport::arrivals()) ends the sleep by means of a library thread, the listener: it waits
// for the descriptors, each armed for one event by the thread that is about to sleep, and then wakes the sleepers.
// While no thread sleeps, the listener wakes only once, on the first arrival after a sleep that ended for another
// reason. The listener is started by the first sleep that needs it. If another transport can sleep but has no such
// descriptor, sleeps are short.
//
// Owner: the engine. Lifetime: open() once the transports are open, close() before they are closed. Threads: arm()
// needs the library lock; sleep() and wake() may be called by any thread without it.
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

  // Called again when transports are added or removed; end_listener() is called before one is removed.
  void open(std::span<transport::Transport* const> transports);
  void close() noexcept;

  [[nodiscard]] bool can_sleep() const noexcept { return first_ != nullptr; }
  // State of a thread that is about to sleep, valid even if open() is called meanwhile.
  struct Armed {
    transport::Transport* on;
    std::uint32_t token;
    double limit;  // seconds
  };
  // Prepares a sleep; empty if something has arrived already. Otherwise one sleep() with the result must follow (see
  // Transport::arm()).
  [[nodiscard]] std::optional<Armed> arm();
  void sleep(const Armed& armed, double at_most_seconds);
  // True if a thread is armed or asleep, so that no transport may be closed.
  [[nodiscard]] bool in_use() const noexcept { return armed_.load(std::memory_order_acquire) != 0; }
  void wake() noexcept {
    if (first_ != nullptr) first_->wake();
  }
  // Ends the listener until a sleep needs it; also called at the end of a program that does not call MPI_Finalize.
  void end_listener() noexcept;

 private:
  struct Heard {
    transport::Transport* transport;
    std::atomic<bool> armed{false};  // the next arrival will wake the listener
  };

  // Arms the transport's descriptor. True if an arrival will wake the listener, and nothing has arrived yet.
  bool listen(Heard& to);
  bool start() noexcept;
  void run() noexcept;
  void give_up() noexcept;

  transport::Transport* first_ = nullptr;
  double limit_ = 0;           // seconds
  std::atomic<int> armed_{0};  // threads
  std::vector<std::unique_ptr<Heard>> heard_;
  std::thread listener_;
  pid_t owner_ = 0;  // process that started the listener: a forked child has no such thread
  int events_ = -1;  // descriptors that the listener waits for
  int end_ = -1;     // readable once the listener must end
};

}  // namespace hr::p2p

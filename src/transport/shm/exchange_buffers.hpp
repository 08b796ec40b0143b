// ExchangeBuffers: memory that goes back and forth between two processes with the messages in it.
//
// In a ring each side writes memory of its own. Its lines are in the reader's cache since the previous lap and must be
// taken from there before they are written, and then the reader takes them from the writer's: two crossings for each
// message. If the answer is written where the message lay, the lines are here already, read a moment ago, and cross
// once (ADR 16).
//
// An exchange buffer belongs to one process at a time. Its holder may put a payload there; it goes to the receiver with
// the message, and stays there after the receiver is done with the payload. The buffer that arrived last is used first.
// A process that sends without getting similar answers soon has no buffers left, and uses the ring. The lower process
// of a pair makes them, once the two are seen to take turns and it has none, so that other pairs, and first messages,
// pay nothing for them.
//
// Memory order: the cell of the message is released after the payload is written and acquired before it is read; a
// process that received an exchange buffer has read all of it before it writes.
// Owner: the shm transport, one for each peer; used by the producer and the consumer of that peer. Threads: library
// lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hr::transport::shm {

inline constexpr std::size_t kExchangeBufferBytes = std::size_t{32} * 1024;
inline constexpr int kMaxExchangeBuffers = 8;

class ExchangeBuffers {
 public:
  ExchangeBuffers() noexcept = default;  // there are none
  // `makes`: this process makes them, up to `room` of them from `memory` on.
  ExchangeBuffers(std::byte* memory, int room, bool makes) noexcept : memory_(memory), may_create_(makes ? room : 0) {}

  // True if there is a buffer for that number of bytes.
  [[nodiscard]] bool has_for(std::size_t bytes) const noexcept { return owned_ != 0 && bytes <= kExchangeBufferBytes; }
  // Returns the buffer that goes next.
  [[nodiscard]] int next() const noexcept { return order_[static_cast<std::size_t>(owned_ - 1)]; }
  [[nodiscard]] std::byte* memory(int index) const noexcept {
    return memory_ + static_cast<std::size_t>(index) * kExchangeBufferBytes;
  }
  // Notes that the next one has gone.
  void pop() noexcept { --owned_; }
  void push(int index) noexcept { order_[static_cast<std::size_t>(owned_++)] = static_cast<std::uint8_t>(index); }

  // Counts a reply: a payload that a buffer could hold is about to be sent, and something came since the last one.
  void count_reply() noexcept {
    if (replies_ < kRepliesBeforeFirst) ++replies_;
  }
  [[nodiscard]] bool should_create() const noexcept {
    return owned_ == 0 && created_ < may_create_ && replies_ == kRepliesBeforeFirst;
  }
  // The buffer to be made next: make() once its memory is there, stop_creating() if there is no more.
  [[nodiscard]] int made() const noexcept { return created_; }
  void make() noexcept { push(created_++); }
  void stop_creating() noexcept { may_create_ = created_; }

 private:
  static constexpr int kRepliesBeforeFirst = 8;

  std::byte* memory_ = nullptr;
  int may_create_ = 0;
  int created_ = 0;
  int replies_ = 0;
  int owned_ = 0;
  std::array<std::uint8_t, kMaxExchangeBuffers> order_{};  // the first owned_ are here, the last one goes next
};

}  // namespace hr::transport::shm

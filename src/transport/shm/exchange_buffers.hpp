// ExchangeBuffers: memory that two processes pass back and forth together with the messages in it.
//
// In a ring, each side writes its own memory. The lines that it writes have been in the reader's cache since the
// previous lap. The writer must fetch them from there, and the reader then fetches them from the writer's cache: two
// transfers per message. If the answer is written where the message was, the core that answers has just read these
// lines and still has them, so they are transferred once (ADR 16).
//
// An exchange buffer belongs to one process at a time. Its owner may write a payload there; the buffer passes to the
// receiver with the message, and stays with it after the payload has been read. The buffer that arrived last is used
// first. A process that sends without receiving similar answers soon has no buffers left, and uses the ring. The
// process with the lower index creates buffers once the two have taken turns for a while and it has none left, so that
// other pairs, and first messages, bear no cost for buffers.
//
// Memory order: the cell of the message is released after the payload is written and acquired before it is read; a
// process that has received an exchange buffer reads all of its payload before it writes there.
// Owner: the shm transport, one per peer; used by the producer and the consumer of that peer. Threads: library lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hr::transport::shm {

inline constexpr std::size_t kExchangeBufferBytes = std::size_t{32} * 1024;
inline constexpr int kMaxExchangeBuffers = 8;

class ExchangeBuffers {
 public:
  ExchangeBuffers() noexcept = default;  // no buffers
  // `makes`: this process creates up to `room` buffers, starting at `memory`.
  ExchangeBuffers(std::byte* memory, int room, bool makes) noexcept : memory_(memory), may_create_(makes ? room : 0) {}

  // True if this process has a buffer for `bytes` bytes.
  [[nodiscard]] bool has_for(std::size_t bytes) const noexcept { return owned_ != 0 && bytes <= kExchangeBufferBytes; }
  // Returns the buffer to use next.
  [[nodiscard]] int next() const noexcept { return order_[static_cast<std::size_t>(owned_ - 1)]; }
  [[nodiscard]] std::byte* memory(int index) const noexcept {
    return memory_ + static_cast<std::size_t>(index) * kExchangeBufferBytes;
  }
  // Removes the buffer that next() returns, which has been sent. push() adds a buffer that has arrived.
  void pop() noexcept { --owned_; }
  void push(int index) noexcept { order_[static_cast<std::size_t>(owned_++)] = static_cast<std::uint8_t>(index); }

  // Counts a reply: a payload that a buffer could hold is about to be sent, and a message has arrived since the last
  // reply.
  void count_reply() noexcept {
    if (replies_ < kRepliesBeforeFirst) ++replies_;
  }
  [[nodiscard]] bool should_create() const noexcept {
    return owned_ == 0 && created_ < may_create_ && replies_ == kRepliesBeforeFirst;
  }
  // Returns the index of the buffer to create next. Call make() once its memory is available, or stop_creating() if
  // there is no memory.
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
  std::array<std::uint8_t, kMaxExchangeBuffers> order_{};  // the first `owned_` entries are valid; the last of them is
                                                           // used next
};

}  // namespace hr::transport::shm

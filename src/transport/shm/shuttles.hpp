// Shuttles: memory that goes back and forth between two processes, with the messages that lie in it.
//
// In a ring each side writes memory of its own. Its lines are in the reader's cache, from the lap before, and must be
// taken out of there before they are written, and then the reader takes them out of the writer's: twice across for
// each message. Where the answer is written to where the message lay, the lines are here already, read a moment ago,
// and go across once (ADR 16).
//
// A shuttle belongs to one process at a time. Who has one may put a payload there; it goes to the receiver with the
// message, for good once that is done with the payload. The one that came last goes first. Who speaks without being
// answered in kind has none left soon, and uses the ring. The lower process of a pair makes them, as the two are seen
// to speak in turns and it has none, so that pairs that do not, and first messages, pay nothing for them.
//
// Memory order: the cell of the message is released after the payload is written and acquired before it is read; who
// got a shuttle has read all of it before it writes.
// Owner: the shm transport, one for each peer; used by the producer and the consumer of that peer. Threads: library
// lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hr::transport::shm {

inline constexpr std::size_t kShuttleBytes = std::size_t{32} * 1024;
inline constexpr int kMostShuttles = 8;

class Shuttles {
 public:
  Shuttles() noexcept = default;  // there are none
  // `makes`: this process is the one that makes them; so many that there is room for from `memory` on.
  Shuttles(std::byte* memory, int room, bool makes) noexcept : memory_(memory), to_make_(makes ? room : 0) {}

  // One is here that holds so much.
  [[nodiscard]] bool hold(std::size_t bytes) const noexcept { return here_ != 0 && bytes <= kShuttleBytes; }
  // The one that goes next.
  [[nodiscard]] int next() const noexcept { return order_[static_cast<std::size_t>(here_ - 1)]; }
  [[nodiscard]] std::byte* memory(int index) const noexcept {
    return memory_ + static_cast<std::size_t>(index) * kShuttleBytes;
  }
  // The next one has gone.
  void leave() noexcept { --here_; }
  void arrive(int index) noexcept { order_[static_cast<std::size_t>(here_++)] = static_cast<std::uint8_t>(index); }

  // A payload is about to be sent that one could hold, and something came since the last one.
  void count_turn() noexcept {
    if (turns_ < kTurns) ++turns_;
  }
  [[nodiscard]] bool wants_one() const noexcept { return here_ == 0 && made_ < to_make_ && turns_ == kTurns; }
  // The one to be made, its memory is there; or there is no more.
  [[nodiscard]] int made() const noexcept { return made_; }
  void make() noexcept { arrive(made_++); }
  void make_no_more() noexcept { to_make_ = made_; }

 private:
  static constexpr int kTurns = 8;

  std::byte* memory_ = nullptr;
  int to_make_ = 0;
  int made_ = 0;
  int turns_ = 0;
  int here_ = 0;
  std::array<std::uint8_t, kMostShuttles> order_{};  // the first here_ are here, the last one goes next
};

}  // namespace hr::transport::shm

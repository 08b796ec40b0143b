// Choice: the rendezvous protocol for messages of one class from one peer. It is made from the probes' estimates for
// the first such message and kept; it is renewed once something that the probes cannot see has changed (disable()). A
// change that they can see, such as time slicing once it is detected, leads to another class. If the estimate of one of
// the two best is uncertain, autotuning decides between them.
// Owner: choice.cpp, until the engine ends; a Choice never moves in memory. Threads: library lock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "p2p/protocol/autotune.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {

class Choice {
 public:
  static constexpr std::size_t kMost = 9;  // number of protocols

  // Applicable protocols, best first: at(0) is tried first, and if it declines, the next one.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const Rendezvous& at(std::size_t place) const noexcept {
    if (place < 2 && autotune_ != nullptr) place ^= autotune_->way();
    return *order_[place];
  }
  // Autotuning of this choice; null if the estimates decide.
  [[nodiscard]] Autotune* autotune() const noexcept { return autotune_.get(); }

 private:
  friend Choice& choice_of(int proc, const MessageClass& message, const transport::Caps& caps);
  friend void disable(const Rendezvous& protocol, int proc);
  void make(std::span<const Rendezvous* const> disabled, const MessageClass& message, const transport::Caps& caps);

  std::array<const Rendezvous*, kMost> order_{};
  std::size_t count_ = 0;
  bool made_ = false;
  std::unique_ptr<Autotune> autotune_;
};

Choice& choice_of(int proc, const MessageClass& message, const transport::Caps& caps);

// Excludes the protocol for messages from process `proc`, regardless of what its probe returns.
void disable(const Rendezvous& protocol, int proc);

}  // namespace hr::p2p

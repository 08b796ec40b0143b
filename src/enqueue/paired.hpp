// Paired: a persistent message between two devices on one host that MPIX_Matchall has matched. Internal to enqueue/.
//
// The receiver owns two slots. When the sender's stream comes to a start, a kernel copies the message into a free slot
// over peer memory; when the receiver's stream comes to a wait, it waits for a full slot, and a kernel copies the
// message out. The start of a receive needs no work, and the wait for a send waits until a slot is free for the next
// one. Both sides count their ready slots in their own memory (kernels/paired_arguments.hpp). So a send waits until the
// receive before its own is complete. A program that does not rely on buffers has completed that receive, because it
// has started the receive of this send.
//
// If kernels wait, the kernel of a start waits for its free slot, normally only briefly, and the wait for a send needs
// no work. Such a start may wait for the receive two before its own, which is complete in every program that can
// continue under the rule above.
//
// Owner, threads: see matched.hpp.
#pragma once

#include <deque>

#include "enqueue/matched.hpp"
#include "paired_arguments.hpp"

namespace hr::enqueue {

class Paired final : public Matched {
 public:
  explicit Paired(const Match& match);
  [[nodiscard]] std::string text() const override;
  void add_words(std::vector<mem::device::DeviceAddress>* words) const override;

  bool is_receive_;
  int rank_;  // at the other end
  int tag_;
  kernels::PairedMove move_{};
  mem::device::FunctionHandle kernel_ = nullptr;

 private:
  [[nodiscard]] std::vector<Release> releases() const override;
};

// Creates *match for a message to or from another process on this host; null for other requests. Errors:
// MPI_ERR_REQUEST (a receive from any source or with any tag; `index`: in the program's array).
Status match_message(p2p::Request& request, std::size_t index, std::unique_ptr<Match>* match);

// Adds the kernels that move the messages of several pairs: sends that start, or receives that are waited for. *moves
// must outlive their launch.
void add_moves(std::span<Paired* const> pairs, std::deque<kernels::PairedMoves>* moves, std::vector<Launch>* launches);

}  // namespace hr::enqueue

// Paired: a persistent message between two devices of a host that MPIX_Matchall has matched. Internal to enqueue/.
//
// The receiver owns two slots. When the sender's stream comes to a start, it waits for a free slot, and a kernel copies
// the message into it over peer memory; when the receiver's stream comes to a wait, it waits for a full slot, and a
// kernel copies the message out. The start of a receive and the wait for a send need nothing. Both sides count their
// ready slots in their own memory (kernels/paired_arguments.hpp). A start waits for the receive before the last one to
// be complete, and a program that does not rely on buffers has completed that one: the receiver has started the last
// one, or the sender could not have completed its last send.
//
// Owner, threads: see matched.hpp.
#pragma once

#include "enqueue/matched.hpp"
#include "paired_arguments.hpp"

namespace hr::enqueue {

class Paired final : public Matched {
 public:
  explicit Paired(const Match& match);
  [[nodiscard]] std::string text() const override;

  bool is_receive_;
  int rank_;  // at the other end
  int tag_;
  kernels::PairedMove move_{};
  mem::device::FunctionHandle kernel_ = nullptr;

 private:
  [[nodiscard]] std::vector<Release> releases() const override;
};

// Makes *match for a message to or from another process of this host; null for other requests. Errors: MPI_ERR_REQUEST
// (a receive from any source or with any tag; `index`: in the program's array).
Status match_message(p2p::Request& request, std::size_t index, std::unique_ptr<Match>* match);

// Gives the device the waits and the moves of several pairs: sends that start, or receives that are waited for.
Status append_moves(Stream& stream, std::span<Paired* const> pairs);

}  // namespace hr::enqueue

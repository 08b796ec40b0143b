// Paired: a persistent message between two devices of a host that MPIX_Matchall has matched. Streams move it by
// themselves: the library's threads take no part. Internal to enqueue/.
//
// The receiver owns two slots. When the sender's stream comes to a start, it waits for a free slot, and a kernel copies
// the message into it over peer memory; when the receiver's stream comes to a wait, it waits for a full slot, and a
// kernel copies the message out. The start of a receive and the wait for a send need nothing. Both sides count their
// ready slots in their own memory (kernels/paired_arguments.hpp), so every start and wait is the same work, whether or
// not it belongs to a graph. A start waits for the receive before the last one to be complete, and a program that does
// not rely on buffers has completed that one: the receiver has started the last one, or the sender could not have
// completed its last send.
//
// If the other process fails, the service releases the pair: nothing waits or moves any more.
//
// Owner: the request, in place of its state, which it keeps. The memory of both sides stays until finalize(), as a
// graph may still refer to it. Threads: library lock.
#pragma once

#include <memory>
#include <span>

#include "enqueue/operation.hpp"
#include "mem/device/exported_buffer.hpp"
#include "mem/device/ipc.hpp"
#include "paired_arguments.hpp"

namespace hr::enqueue {

class Paired final : public p2p::RequestState {
 public:
  Paired(const p2p::Request& request, int proc);
  ~Paired() override;

  // For MPI_Start, which cannot start it.
  Status start(p2p::Request& request) override;
  Status cancel(p2p::Request& request) override { return before_->cancel(request); }
  [[nodiscard]] Status may_free() const override { return before_->may_free(); }
  [[nodiscard]] const char* what() const noexcept override { return before_->what(); }

  [[nodiscard]] std::string text() const;
  // Writes the word that a stream waits for, so that it waits no more.
  Status release();

  std::unique_ptr<p2p::RequestState> before_;
  bool is_receive_;
  int proc_;
  int rank_;
  int tag_;
  kernels::PairedMove move_{};
  p2p::Completion result_;  // of a wait
  mem::Location where_;     // of the words, for work of the library
  mem::device::ContextHandle context_ = nullptr;
  mem::device::FunctionHandle kernel_ = nullptr;
  Ref<Stream> stream_;     // that started it last
  bool started_ = false;   // and is not waited for
  bool captured_ = false;  // the start belongs to a graph
  bool released_ = false;
};

// Returns null if the request was not matched for streams.
[[nodiscard]] Paired* paired_of(const p2p::Request& request);

// Device memory for words and slots.
struct PairedMemory {
  mem::device::ExportedBuffer buffer;
  std::size_t used = 0;
};

// For start_all() and wait().
Status start_paired(std::span<p2p::Request* const> requests, Attached& attached, bool captured);
// All of these were started in one stream, in a capture or not; check_wait() has been called.
Status wait_paired(Stream& stream, std::span<Waiting* const> all);
// Releases the pairs whose other process has failed. Called in rounds of progress.
void look_after_pairs();

}  // namespace hr::enqueue

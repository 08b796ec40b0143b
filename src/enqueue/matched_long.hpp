// MatchedLong: a persistent collective operation among devices of one host that MPIX_Matchall has matched: bcast,
// allgather, reduce_scatter, and allreduce of a long vector. Internal to enqueue/.
//
// The ranks open each other's buffers, so there are no intermediate copies. The kernel of the start notifies all ranks
// that this rank's buffers are ready; the kernel of the wait moves this rank's share of the elements between all
// buffers, and waits until the other shares have also arrived (kernels/matched_long.cu). Only for streams in which
// kernels may wait.
//
// Shares: for allgather and reduce_scatter, the blocks of the ranks; for allreduce, equal parts of the vector; for
// bcast, equal parts for all ranks except the root; each of these ranks fetches its part and passes it to the others.
//
// Owner, threads: see matched.hpp. The other ranks' buffers stay open until nothing can refer to them: see
// close_buffers().
#pragma once

#include "coll/call.hpp"
#include "enqueue/matched.hpp"
#include "matched_long_arguments.hpp"

namespace hr::enqueue {

class MatchedLong final : public Matched {
 public:
  explicit MatchedLong(const Match& match) : Matched(match) { kind_ = Kind::kLong; }
  ~MatchedLong() override;
  void add_words(std::vector<mem::device::DeviceAddress>* /*words*/) const override {}
  void close_buffers() noexcept override { buffers_.close(); }
  // Kernels of the start, of the wait, and of both at once.
  Launch start() { return {ready_kernel_, 1, kernels::kMatchedReadyThreads, &ready_}; }
  Launch end() { return {long_kernel_, static_cast<unsigned>(long_.blocks), kernels::kMatchedLongThreads, &long_}; }
  Launch both() { return {long_kernel_, static_cast<unsigned>(both_.blocks), kernels::kMatchedLongThreads, &both_}; }

  kernels::MatchedReady ready_{};
  kernels::MatchedLong long_{};
  kernels::MatchedLong both_{};
  mem::device::FunctionHandle ready_kernel_ = nullptr;
  mem::device::FunctionHandle long_kernel_ = nullptr;
  OpenBuffers buffers_;

 private:
  [[nodiscard]] std::vector<Release> releases() const override;
};

// Returns a match for an operation that its processes, all on this host, may execute in this way; null for others. The
// answer is the same on all processes.
std::unique_ptr<Match> match_long(p2p::Request& request, const coll::Call& call);

}  // namespace hr::enqueue

// MatchedAllreduce: a persistent allreduce of a short vector among devices of one host that MPIX_Matchall has matched.
// Internal to enqueue/. For longer vectors see matched_long.hpp.
//
// Each rank owns two slots for the vector of each rank. When a stream reaches the start, a kernel puts the rank's
// vector into its slot at every rank, over peer memory; the wait waits for the vectors of the others, and a kernel
// combines all of them in rank order, so that all ranks get bitwise identical results (kernels/matched_allreduce.cu).
// The start waits for nothing. The slots that it writes were last used two reductions ago, and all ranks have finished
// that reduction, because they have since put their vectors for the last one.
//
// Owner, threads: see matched.hpp.
#pragma once

#include "coll/call.hpp"
#include "enqueue/matched.hpp"
#include "matched_allreduce_arguments.hpp"

namespace hr::enqueue {

class MatchedAllreduce final : public Matched {
 public:
  using Matched::Matched;
  void add_words(std::vector<mem::device::DeviceAddress>* words) const override;
  // Kernels of the start, of the wait, and of both at once, if the kernel waits.
  Launch start();
  Launch end();
  Launch both();

  kernels::MatchedPut put_{};
  kernels::MatchedEnd end_{};
  mem::device::FunctionHandle put_kernel_ = nullptr;
  kernels::MatchedBoth both_{};
  mem::device::FunctionHandle end_kernel_ = nullptr;
  mem::device::FunctionHandle both_kernel_ = nullptr;

 private:
  [[nodiscard]] std::vector<Release> releases() const override;
};

// True for memory that other processes' kernels may use.
bool is_usable(const layout::View& view);

// Returns a match for a short allreduce of processes on this host; null for other calls. The answer is the same on all
// processes.
std::unique_ptr<Match> match_short_allreduce(p2p::Request& request, const coll::Call& call);

}  // namespace hr::enqueue

// Bare copies between the buffers of all ranks of this host, without MPI or NCCL: the limit for messages.
//
// Maps every rank's two buffers into this process. Owner: main; the buffers must outlive it. One thread. All calls
// except ready() require that ready() is true.
#pragma once

#include <vector>

#include "nccl/operation.hpp"

namespace bench {

class Peers {
 public:
  // Collective. `send` and `receive`: this rank's entire allocations.
  Peers(const World& world, float* send, float* receive);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // True if each rank can reach the memory of all others; the same on all ranks.
  bool ready() const { return ready_; }

  // Copies blocks between this rank's buffers and its peers' buffers: the blocks that it sends if `push`, else those
  // that it receives. Uses a separate stream for each peer, and waits for all of them.
  void copy(const Compared& operation, const Exchange& exchange, bool push);

 private:
  std::vector<float*> send_, receive_;  // by rank
  std::vector<gpu::Stream> streams_;    // by rank
  bool ready_ = false;
};

}  // namespace bench

// Bare copies between the buffers of all ranks of this host, without MPI or NCCL: the limit of messages.
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

  // Copies the blocks that this rank sends into the receivers' buffers (`push`), or the blocks that it receives from
  // the senders' buffers, with a separate stream for each peer, and waits for all.
  void copy(const Compared& operation, const Exchange& exchange, bool push);

 private:
  std::vector<float*> send_, receive_;  // by rank
  std::vector<gpu::Stream> streams_;    // by rank
  bool ready_ = false;
};

}  // namespace bench

// Members: the device buffers of all processes of a collective, as this process's GPU reaches them.
//
// Device collectives move data by GPUs and everything else by the host: the processes tell one another in their cells
// (shared/area.hpp) where their buffers lie, each GPU then copies and combines straight between the buffers, and a
// word of each process says when its GPU is done. No kernel ever waits for another one, so that any number of
// processes may share a GPU.
//
// Whether an operation may go this way must be agreed upon, since a process may pass host memory where another one
// passes device memory. A process that passes device memory says so once (Area::want_devices()); from some ticket on
// that all agree upon, every collective of the communicator begins with the exchange of a Buffers record, and
// the device algorithms are chosen when all of them say `reachable`.
//
// Owner: the Area; one operation at a time, in its turn. Threads: library lock.
#pragma once

#include <vector>

#include "coll/call.hpp"
#include "layout/cuda/peer_work.hpp"
#include "mem/cuda/fence.hpp"
#include "p2p/task.hpp"

namespace hr::coll::device {

// One buffer of one process, for the others.
struct Buffer {
  mem::cuda::Export allocation;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // 0: the operation does not use it here
};

// What a process publishes.
struct Buffers {
  std::uint64_t reachable = 0;  // both buffers are contiguous device memory that others can map
  Buffer send;                  // in place: as recv
  Buffer recv;
};

class Members {
 public:
  // This process's record, and everybody's after that. True for all or for none: agreed().
  p2p::Task exchange(const Call& call);
  [[nodiscard]] bool agreed() const noexcept { return agreed_; }

  // Where this process's GPU finds a member's buffer. The operation has agreed().
  struct Reach {
    mem::cuda::DeviceAddress send = 0;
    mem::cuda::DeviceAddress recv = 0;
  };
  // Maps a member's buffers (those that it has).
  Status reach(const Call& call, int rank, Reach* reach);

  // Memory on this process's device: where its work runs.
  [[nodiscard]] const mem::Location& near() const noexcept { return near_; }
  layout::cuda::PeerWork& work() noexcept { return work_; }
  // Waits until this process's work is done, tells the others, and waits until theirs is, too: then nobody uses this
  // process's buffers any more. `status`: what has gone wrong so far here; the others still are told.
  p2p::Task finish(const Call& call, Status status);

  // An algorithm: starts this process's share of the work, and finishes.
  static p2p::Task carry_out(const Call& call, Status (*start)(const Call& call, Members& members));

 private:
  Buffers describe(const Call& call);

  // Whether everybody can map everybody's memory: tried once, by the first operation that might.
  enum class Trial : std::uint8_t { kNotYet, kPassed, kFailed } trial_ = Trial::kNotYet;
  p2p::Task try_mappings(const Call& call);

  bool agreed_ = false;
  mem::Location near_;
  std::vector<Buffers> all_;
  mem::cuda::Fence fence_;
  layout::cuda::PeerMappings mappings_;
  layout::cuda::PeerWork work_;
};

}  // namespace hr::coll::device

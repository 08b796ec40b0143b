// DeviceBuffers: the device buffers of all processes of a collective, as this process's GPU reaches them.
//
// Device collectives move data by GPUs and everything else by the host: the processes tell one another beside their
// flag lines (addresses.hpp) where their buffers lie, each GPU then copies and combines straight between the buffers,
// and a word of each process says when its GPU is done. No kernel ever waits for another one, so that any number of
// processes may share a GPU.
//
// All must agree that an operation goes this way, since one process may pass host memory and another one device memory.
// From a sequence number on that all agree upon (shared/address_exchange.cpp), every collective of the communicator
// begins with an exchange of device addresses, and a device algorithm is chosen if all of them are reachable. If some
// addresses lie in memory that has not been proven, all processes try to map everything, and agree upon the outcome.
//
// Owner: the Segment; one operation at a time, in its turn. Threads: library lock.
#pragma once

#include <vector>

#include "coll/device/addresses.hpp"
#include "coll/device/pieces.hpp"
#include "layout/cuda/peer_work.hpp"
#include "mem/cuda/fence.hpp"
#include "p2p/task.hpp"

namespace hr::coll::device {

class DeviceBuffers {
 public:
  // Publishes this process's addresses, and waits for all others'. agreed() is then true for all or for none.
  p2p::Task exchange(const Call& call);
  [[nodiscard]] bool agreed() const noexcept { return agreed_; }
  // True if some members were seen to run time-sliced on one device, in an earlier exchange: operations that are not
  // long then go through pinned memory, and need no exchange. The same on all members.
  [[nodiscard]] bool time_sliced() const noexcept { return time_sliced_; }

  // --- of an operation that has agreed ---
  // Pointers to a member's buffers (those that it has) for this process's GPU; reductions.
  struct PeerPointers {
    mem::cuda::DeviceAddress send = 0;
    mem::cuda::DeviceAddress recv = 0;
  };
  Status peer_pointers(const Call& call, int rank, PeerPointers* pointers);
  // Starts fetching all that this process takes.
  Status fetch(const Call& call);

  // Memory on this process's device, where its work runs.
  [[nodiscard]] const mem::Location& near() const noexcept { return near_; }
  layout::cuda::PeerWork& work() noexcept { return work_; }
  // Waits until this process's work is done, tells the others, and waits until theirs is, too: then no process uses
  // this one's buffers any more. `status`: the error so far here; the others are still told.
  p2p::Task finish(const Call& call, Status status);

  // Body of an algorithm: starts this process's share of the work, and finishes.
  static p2p::Task execute(const Call& call, Status (*start)(const Call& call, DeviceBuffers& buffers));

 private:
  struct Taken {
    PieceName name;
    layout::View to;
  };
  // Context that mappings belong to.
  struct MappingContext {
    mem::cuda::ContextHandle context = nullptr;
    std::uint64_t id = 0;
    bool operator==(const MappingContext&) const = default;
  };

  // --- this process's addresses (describe.cpp). False, or an error: others cannot map them ---
  void describe(const Call& call, DeviceAddresses& addresses);
  Status describe_operands(const Call& call, DeviceAddresses& addresses);
  Status describe_buffer(const Call& call, const Blocks& blocks, DeviceAddresses& addresses, Buffer* buffer);
  Status describe_pieces(const Call& call, DeviceAddresses& addresses);
  Status give(const Call& call, const Blocks& blocks, int block, int reader, DeviceAddresses& addresses);
  Status take(const Blocks& blocks, int block, const PieceName& name, DeviceAddresses& addresses);
  Status use(const layout::View& view);
  Status add_allocation(const Call& call, const mem::Location& where, const mem::cuda::Range& range,
                        DeviceAddresses& addresses, std::uint32_t* index);
  bool proven(const DeviceAddresses& addresses) const;

  // --- all map everything, in an operation where something is unproven ---
  p2p::Task prove(const Call& call);
  bool map_everything(const Call& call);
  Status map(const Call& call, int rank, std::uint64_t allocation, std::uint64_t* moved_by);

  // Called in an exchange, once all addresses have arrived.
  void note_all_devices(const Call& call);

  bool agreed_ = false;
  bool time_sliced_ = false;
  std::vector<int> others_;  // the other processes, by their numbers in the job
  mem::Location near_;
  MappingContext mapping_context_;
  std::vector<Taken> taken_;
  std::vector<mem::Location> contexts_;  // one of each, of all data of this process
  std::vector<mem::cuda::Fence> fences_;
  std::vector<layout::cuda::PeerWork::Move> moves_;
  layout::cuda::PeerMappings mappings_;
  layout::cuda::PeerWork work_;
  // Allocations of this process that all others have mapped, from where each was then; and this process's context then.
  std::vector<std::uint64_t> proven_;
  mem::Location proven_near_;
  MappingContext proven_context_;
};

}  // namespace hr::coll::device

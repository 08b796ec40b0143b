// DeviceBuffers: the device buffers of all processes of a collective, as mapped for this process's GPU.
//
// In device collectives, GPUs move the data and the hosts do everything else. The processes publish the addresses of
// their buffers next to their flag lines (addresses.hpp), each GPU copies and combines directly between the buffers,
// and a word of each process shows when its GPU is done. No kernel ever waits for another, so any number of processes
// may share a GPU. If processes take turns on a GPU, each turn costs a switch, so one of them works for the others
// (docs/adr/0055-one-worker-for-a-device.md).
//
// All processes must agree to use a device algorithm, because one may pass host memory and another device memory.
// From an agreed sequence number on (shared/address_exchange.cpp), every collective of the communicator begins with an
// exchange of device addresses, and a device algorithm is chosen if all of them are reachable. If some addresses lie in
// memory that has not been verified to be mappable, all processes try to map everything, and agree on the outcome.
//
// Owner: the Segment; one operation at a time, in its turn. Threads: library lock.
#pragma once

#include <vector>

#include "coll/device/addresses.hpp"
#include "coll/device/pieces.hpp"
#include "layout/device/peer_work.hpp"
#include "mem/device/fence.hpp"
#include "p2p/task.hpp"

namespace hr::coll::device {

class DeviceBuffers {
 public:
  // Publishes this process's addresses, and waits for the addresses of all others. agreed() is then the same on all
  // processes.
  p2p::Task exchange(const Call& call);
  [[nodiscard]] bool agreed() const noexcept { return agreed_; }
  // For an operation without an exchange: publishes the device of this process's buffers, if there is one, and looks
  // for members that have published the same one. If processes take turns there, none must keep a kernel on it.
  static void find_sharers(const Call& call);
  // True if an earlier exchange showed that some members run time-sliced on one device. Operations that are not long
  // then go through pinned memory, and need no exchange. The same on all members.
  [[nodiscard]] bool time_sliced() const noexcept { return time_sliced_; }

  // --- For an operation whose processes have agreed ---
  // Pointers with which this process's GPU accesses a member's buffers; 0 for a buffer that the member does not use.
  struct PeerPointers {
    mem::device::DeviceAddress send = 0;
    mem::device::DeviceAddress recv = 0;
  };
  Status peer_pointers(const Call& call, int rank, PeerPointers* pointers);
  // True if the receive buffers of all processes are contiguous, of the same length, accessible to the others, and so
  // aligned that a kernel of any process can copy vectors between them (bcast).
  [[nodiscard]] bool whole_everywhere(const Call& call) const noexcept;
  // Returns the process whose GPU works for `rank`: the lowest of the ranks that take turns on one device, else `rank`.
  [[nodiscard]] static int worker_of(const Call& call, int rank) noexcept;
  // Returns the number of devices that the processes use.
  [[nodiscard]] static int devices(const Call& call) noexcept;
  // This process's part of work that is divided among all workers. `spared`: a rank whose worker gets no part, unless
  // it is the only one.
  struct Part {
    int index = -1;  // -1: none
    int count = 0;
  };
  [[nodiscard]] static Part own_part(const Call& call, int spared = -1) noexcept;
  // Starts to fetch everything that this process receives; in a gather, to store long contiguous data at the root.
  Status fetch(const Call& call);

  // Returns the location of memory on the device where this process's work runs.
  [[nodiscard]] const mem::Location& near() const noexcept { return near_; }
  layout::device::PeerWork& work() noexcept { return work_; }
  // Waits until this process's work is done, publishes this fact, and waits until the others' work is done. Then no
  // other process uses this process's buffers any more. `status`: this process's error so far; the others are notified
  // in any case.
  p2p::Task finish(const Call& call, Status status);

  // Body of an algorithm: starts this process's share of the work, then calls finish().
  static p2p::Task execute(const Call& call, Status (*start)(const Call& call, DeviceBuffers& buffers));

 private:
  struct Taken {
    PieceName name;
    layout::View to;
  };
  // Context to which the mappings belong.
  struct MappingContext {
    mem::device::ContextHandle context = nullptr;
    std::uint64_t id = 0;
    bool operator==(const MappingContext&) const = default;
  };

  // --- This process's addresses (describe.cpp). False or an error means that others cannot map them ---
  void describe(const Call& call, DeviceAddresses& addresses);
  Status describe_operands(const Call& call, DeviceAddresses& addresses);
  Status describe_buffer(const Call& call, const Blocks& blocks, DeviceAddresses& addresses, Buffer* buffer);
  Status describe_pieces(const Call& call, DeviceAddresses& addresses);
  [[nodiscard]] bool others_use_recv(const Call& call) const noexcept;
  static bool stores_at_root(const Call& call, int source) noexcept;
  Status store_at_root(const Call& call);
  static bool is_served(const Call& call, int rank) noexcept;
  Status add_own_moves(const Call& call);
  Status add_moves_for(const Call& call, int client);
  Status find_source(const Call& call, int source, const Piece& piece, layout::device::PeerWork::Move* move);
  Status give(const Call& call, const Blocks& blocks, int block, int reader, DeviceAddresses& addresses);
  Status take(const Blocks& blocks, int block, const PieceName& name, DeviceAddresses& addresses);
  Status use(const layout::View& view);
  Status add_allocation(const Call& call, const mem::Location& where, const mem::device::Range& range,
                        DeviceAddresses& addresses, std::uint32_t* index);
  bool proven(const DeviceAddresses& addresses) const;

  // --- All processes map everything, in an operation with unverified memory ---
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
  std::vector<mem::Location> contexts_;  // one location for each context that holds data of this process
  std::vector<mem::device::Fence> fences_;
  std::vector<layout::device::PeerWork::Move> moves_;
  layout::device::PeerMappings mappings_;
  layout::device::PeerWork work_;
  // Allocations of this process that all others have mapped, in the contexts that they used then; and this process's
  // location and context at that time.
  std::vector<std::uint64_t> proven_;
  mem::Location proven_near_;
  MappingContext proven_context_;
};

}  // namespace hr::coll::device

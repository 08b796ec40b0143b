// Call: one collective operation with its arguments, as algorithms see it (MPI 5.0 chapter 6).
//
// Owner: for a blocking operation the caller's stack, otherwise the request. A Call does not move while a task runs on
// it. It borrows the communicator, types, operation and argument arrays; a request holds references to the objects and
// copies of the arrays. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/abi.hpp"
#include "coll/members.hpp"
#include "comm/communicator.hpp"
#include "layout/op.hpp"
#include "layout/view.hpp"

namespace hr::coll {

// The names match those in select/default.json.
enum class Operation : std::uint8_t {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};
inline constexpr int kOperations = static_cast<int>(Operation::kNeighborAlltoallw) + 1;

// Returns the name, such as "allreduce" or "reduce_scatter_block".
[[nodiscard]] const char* name(Operation operation) noexcept;
[[nodiscard]] std::optional<Operation> find_operation(std::string_view name) noexcept;

// A buffer of a collective as blocks, one for each peer: block i is sent to or received from peer i, as in gather's
// receive buffer. A buffer that is a single block is block 0.
class Blocks {
 public:
  enum class Shape : std::uint8_t { kNone, kUniform, kConsecutive, kCounts, kTypes };

  Blocks() noexcept = default;
  // Makes this a buffer of blocks of `count` elements. Returns the view of all blocks, which the caller fills in.
  [[nodiscard]] layout::View* set_uniform(Count count, layout::Datatype& type) noexcept {
    shape_ = Shape::kUniform;
    count_ = count;
    type_ = &type;
    return &all_;
  }
  // Describes consecutive blocks of counts[i] elements; `all` covers every block. block(i) takes O(i) time.
  static Blocks consecutive(const layout::View& all, CountArray counts) noexcept;
  // Describes blocks of counts[i] elements, displacements[i] extents after `address`.
  static Blocks counted(const void* address, CountArray counts, CountArray displacements,
                        layout::Datatype& type) noexcept;
  // Describes such blocks in the memory of a view, with its type; independent of the default stream if the view is.
  static Blocks counted_in(const layout::View& all, CountArray counts, CountArray displacements) noexcept;
  // Describes blocks of counts[i] elements of types[i], displacements[i] bytes after `address`.
  static Blocks typed(const void* address, CountArray counts, CountArray displacements,
                      layout::Datatype* const* types) noexcept;

  // True if the buffer is not significant on this process, or the operation is in place.
  [[nodiscard]] bool none() const noexcept { return shape_ == Shape::kNone; }
  [[nodiscard]] Shape shape() const noexcept { return shape_; }
  [[nodiscard]] Count count(int i) const noexcept {
    return shape_ == Shape::kUniform ? count_ : counts_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] layout::Datatype& type(int i) const noexcept {
    return shape_ == Shape::kTypes ? *types_[static_cast<std::size_t>(i)] : *type_;
  }
  // Returns the packed size of block i.
  [[nodiscard]] std::size_t bytes(int i) const noexcept {
    return static_cast<std::size_t>(count(i)) * static_cast<std::size_t>(type(i).size());
  }
  // Creates a view of block i. Errors: those of make_view(), for counted() and typed() blocks only, because other
  // blocks are parts of an existing view.
  Status block(int i, layout::View* view) const;
  // Returns a view of all blocks; for uniform and consecutive ones only.
  [[nodiscard]] const layout::View& all() const noexcept { return all_; }
  // Returns the same blocks in another buffer with equal count and type; for uniform and consecutive ones only.
  [[nodiscard]] Blocks moved_to(const layout::View& all) const noexcept {
    Blocks moved = *this;
    moved.all_ = all;
    return moved;
  }
  // Makes the buffer independent of the default stream (mem/independent.hpp).
  void become_independent() noexcept { all_.where.independent = independent_ = true; }
  // Makes the blocks refer to other copies of the argument arrays (null: there is no such array).
  void set_arrays(const Count* counts, const Count* displacements, layout::Datatype* const* types) noexcept;
  [[nodiscard]] CountArray counts() const noexcept { return counts_; }
  [[nodiscard]] CountArray displacements() const noexcept { return displacements_; }

 private:
  Shape shape_ = Shape::kNone;
  bool independent_ = false;
  layout::View all_{};
  Count count_ = 0;
  std::byte* address_ = nullptr;
  CountArray counts_;
  CountArray displacements_;
  layout::Datatype* type_ = nullptr;
  layout::Datatype* const* types_ = nullptr;
};

struct Call {
  Operation operation = Operation::kBarrier;
  bool in_place = false;               // send is then none(), and recv has the data (scatter: send, at the root)
  int root = 0;                        // rank; on intercommunicators also abi::kRoot or abi::kProcNull
  int tag = 0;                         // tag of all messages of the operation
  comm::Communicator* comm = nullptr;  // communicator of the operation
  const Members* members = nullptr;    // processes that the operation runs over: all or some of the communicator's
  layout::Op* op = nullptr;            // reductions
  Blocks send;
  Blocks recv;  // bcast: the buffer
  // Size used for selection, in bytes: of one block; for reductions and bcast, of the vector; for allgatherv, of the
  // mean block. The same on every process, because the standard requires the arguments to agree; 0 where it does not
  // (gatherv, scatterv, alltoallv, alltoallw, neighborhoods).
  std::size_t bytes = 0;
  bool persistent = false;
  bool blocking = false;               // the caller only waits for the operation
  bool independent = false;            // the default stream has no pending work on the operation's buffers
  shared::Segment* segment = nullptr;  // shared memory of the members, if the operation is enqueued in the segment's
                                       // sequence
  std::uint64_t sequence_number = 0;   // number of the operation in the segment

  void become_independent() noexcept {
    independent = true;
    send.become_independent();
    recv.become_independent();
  }
  [[nodiscard]] int rank() const noexcept { return members->own(); }
  [[nodiscard]] int size() const noexcept { return members->size(); }
  // Returns the number of peers; in an intercommunicator, these are the processes of the remote group.
  [[nodiscard]] int peers() const noexcept { return static_cast<int>(members->peers().size()); }
  // Returns this process's index among its peers; -1 in an intercommunicator.
  [[nodiscard]] int own_peer() const noexcept { return members->is_inter() ? -1 : members->own(); }
  [[nodiscard]] bool is_root() const noexcept {
    return members->is_inter() ? root == abi::kRoot : root == members->own();
  }
};

}  // namespace hr::coll

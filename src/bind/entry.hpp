// Entry: the checks that are inlined into the generated entry points (docs/adr/0001-entry-points.md).
//
// Order in an entry point: check that the library is initialised, take the lock, check handles on which errors are
// raised, check everything else, run the body, store the results. A check is a compare and a branch; its error text is
// in raise.cpp.
#pragma once

#include <climits>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "base/count.hpp"
#include "base/counters.hpp"
#include "base/lock.hpp"
#include "bind/channel_calls.hpp"
#include "bind/checked_calls.hpp"
#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "bind/raise.hpp"
#include "bind/runtime.hpp"
#include "bind/test_guard.hpp"

namespace hr::bind {

// The large-count forms pass their arguments to the layers below without conversion.
static_assert(std::is_same_v<MPI_Count, Count> && std::is_same_v<MPI_Aint, Count> && std::is_same_v<MPI_Offset, Count>);

// --- ranks and tags; MPI_TAG_UB is INT_MAX ---
inline bool rank_ok(int rank, const comm::Communicator& comm) noexcept {
  return static_cast<unsigned>(rank) < static_cast<unsigned>(comm.peers().size());
}
inline bool dest_ok(int rank, const comm::Communicator& comm) noexcept {
  return rank_ok(rank, comm) || rank == abi::kProcNull;
}
inline bool source_ok(int rank, const comm::Communicator& comm) noexcept {
  return rank_ok(rank, comm) || rank == abi::kProcNull || rank == abi::kAnySource;
}
inline bool root_ok(int rank, const comm::Communicator& comm) noexcept {
  return rank_ok(rank, comm) || (comm.is_inter() && (rank == abi::kRoot || rank == abi::kProcNull));
}
// True if this process is the root, so that arguments that are significant only at the root must be valid.
inline bool at_root(int root, const comm::Communicator& comm) noexcept {
  return comm.is_inter() ? root == abi::kRoot : root == comm.rank();
}
inline bool at_root(int leader, const comm::Group& group) noexcept { return leader == group.rank(); }
inline bool tag_ok(int tag) noexcept { return tag >= 0; }
inline bool any_tag_ok(int tag) noexcept { return tag >= 0 || tag == abi::kAnyTag; }

// --- datatypes ---
inline layout::Datatype* committed(MPI_Datatype handle) noexcept {
  layout::Datatype* type = lookup<layout::Datatype>(handle);
  return type != nullptr && type->committed() ? type : nullptr;
}
// Returns MPI_BYTE, to replace a datatype argument that is not significant.
inline layout::Datatype* byte_type() noexcept { return predefined_datatypes[abi::kByte - kFirstDatatype]; }

// Objects behind an array of datatype handles.
class TypeList {
 public:
  // Returns the index of the first handle that must not be used, or -1. Elements whose count is 0 are not checked.
  int resolve(const MPI_Datatype* handles, int n, CountArray counts, bool must_be_committed);
  [[nodiscard]] std::span<layout::Datatype* const> span() const noexcept { return {types(), size_}; }

 private:
  static constexpr std::size_t kInline = 32;
  [[nodiscard]] layout::Datatype* const* types() const noexcept { return heap_ ? heap_.get() : inline_; }

  layout::Datatype* inline_[kInline];
  std::unique_ptr<layout::Datatype*[]> heap_;
  std::size_t size_ = 0;
};

// Return the lengths of the array arguments of neighborhood collectives; 0 without a topology, which the body reports.
int sources_of(const comm::Communicator& comm);
int destinations_of(const comm::Communicator& comm);

// --- results that are int in the plain form ---
inline bool fits_int(Count value) noexcept { return value >= INT_MIN && value <= INT_MAX; }
inline int int_or_undefined(Count value) noexcept {
  return fits_int(value) ? static_cast<int>(value) : abi::kUndefined;
}

}  // namespace hr::bind

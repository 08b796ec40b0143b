// Group: an ordered set of processes (MPI 5.0 section 7.3). Immutable after construction.
//
// Owner: reference counted. Threads: immutable.
#pragma once

#include <span>
#include <vector>

#include "base/object.hpp"
#include "base/status.hpp"

namespace hr::comm {

class Group final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kGroup;
  // procs[rank] = process index in the job. own_rank: this process's rank in it, abi::kUndefined when not a member.
  Group(std::vector<int> procs, int own_rank) : Object(kKind), procs_(std::move(procs)), own_rank_(own_rank) {}

  [[nodiscard]] int size() const noexcept { return static_cast<int>(procs_.size()); }
  [[nodiscard]] int rank() const noexcept { return own_rank_; }
  [[nodiscard]] int proc(int rank) const noexcept { return procs_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::span<const int> procs() const noexcept { return procs_; }

 private:
  std::vector<int> procs_;
  int own_rank_;
};

}  // namespace hr::comm

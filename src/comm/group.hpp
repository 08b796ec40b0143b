// Group: an ordered set of processes (MPI 5.0 section 7.3), as indices into the table of processes
// (boot/processes.hpp). Immutable after construction.
//
// Owner: reference counted. Threads: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/object.hpp"
#include "base/status.hpp"
#include "comm/proc_list.hpp"

namespace hr::p2p {
class BufferPool;
}

namespace hr::comm {

class Group final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kGroup;
  // `procs`: a range, or a view of `table`. The group takes ownership of `table`. `own_rank`: this process's rank in
  // the group; abi::kUndefined if it is not a member.
  Group(ProcList procs, std::vector<int> table, int own_rank, std::shared_ptr<p2p::BufferPool> session_buffer = nullptr)
      : Object(kKind),
        procs_(procs),
        own_rank_(own_rank),
        table_(std::move(table)),
        session_buffer_(std::move(session_buffer)) {}

  [[nodiscard]] int size() const noexcept { return procs_.size(); }
  [[nodiscard]] int rank() const noexcept { return own_rank_; }
  [[nodiscard]] int proc(int rank) const noexcept { return procs_[rank]; }
  [[nodiscard]] const ProcList& procs() const noexcept { return procs_; }
  // Returns the buffer (MPI_Session_attach_buffer) of the session from which the group is derived; null if there is
  // none.
  [[nodiscard]] const std::shared_ptr<p2p::BufferPool>& session_buffer() const noexcept { return session_buffer_; }

 private:
  ProcList procs_;
  int own_rank_;
  std::vector<int> table_;  // memory of procs_; empty for a range
  std::shared_ptr<p2p::BufferPool> session_buffer_;
};

// Creates a group of these processes, and finds the caller's own rank. An empty group is MPI_GROUP_EMPTY itself.
// Communicators created from the group belong to the session of `session_buffer`, or to that of `origin`.
Ref<Group> make_group(std::vector<int> procs, std::shared_ptr<p2p::BufferPool> session_buffer = nullptr);
inline Ref<Group> make_group(std::vector<int> procs, const Group& origin) {
  return make_group(std::move(procs), origin.session_buffer());
}
Ref<Group> group_of(const ProcList& procs, std::shared_ptr<p2p::BufferPool> session_buffer = nullptr);
inline Ref<Group> group_of(const ProcList& procs, const Group& origin) {
  return group_of(procs, origin.session_buffer());
}

// group_empty() returns MPI_GROUP_EMPTY, predefined_group() the object behind an ABI value (nullptr for MPI_GROUP_NULL
// and unknown values).
Group& group_empty() noexcept;
Group* predefined_group(std::uintptr_t abi_value) noexcept;

// --- Sections 7.3.2 and 7.3.3. Errors: MPI_ERR_RANK (outside the group, or listed twice), MPI_ERR_ARG (stride 0, count
// < 0) ---

// Returns MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
[[nodiscard]] int compare(const Group& a, const Group& b);
[[nodiscard]] Ref<Group> unite(const Group& a, const Group& b);
[[nodiscard]] Ref<Group> intersect(const Group& a, const Group& b);
[[nodiscard]] Ref<Group> subtract(const Group& a, const Group& b);
Status include(const Group& group, std::span<const int> ranks, Ref<Group>* result);
Status exclude(const Group& group, std::span<const int> ranks, Ref<Group>* result);
// `ranges`: `count` triplets first, last, stride.
Status include_ranges(const Group& group, int count, const int (*ranges)[3], Ref<Group>* result);
Status exclude_ranges(const Group& group, int count, const int (*ranges)[3], Ref<Group>* result);
// Translates ranks. MPI_PROC_NULL stays; a process that is not in `to` becomes MPI_UNDEFINED.
Status translate(const Group& from, std::span<const int> ranks, const Group& to, int* result);

// --- For the layers above ---
[[nodiscard]] bool is_subset(const Group& part, const Group& whole);
[[nodiscard]] bool overlap(const Group& a, const Group& b);
// True if all processes are on one host.
[[nodiscard]] bool on_one_host(const ProcList& procs) noexcept;

}  // namespace hr::comm

// Communicator: a group (or two), a context, and what programs hang on it (MPI 5.0 chapter 7).
//
// Contexts: every communicator has an even context for point-to-point; context() + 1 is for its collectives, so
// that the two never match each other. Allocation is an agreement among the members (comm/context.cpp).
// Owner: reference counted; a pending operation holds a reference, so MPI_Comm_free may come first.
// Threads: library lock; rank, size, context and groups never change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/attributes.hpp"
#include "base/object.hpp"
#include "comm/errhandler.hpp"
#include "comm/group.hpp"
#include "comm/info.hpp"
#include "comm/topology.hpp"

namespace hr::comm {

class Communicator final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kCommunicator;
  Communicator() noexcept : Object(kKind) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return local_->size(); }
  [[nodiscard]] bool is_inter() const noexcept { return static_cast<bool>(remote_); }
  // The ranks that sends go to and receives come from: the remote group of an intercommunicator.
  [[nodiscard]] const Group& peers() const noexcept { return remote_ ? *remote_ : *local_; }
  [[nodiscard]] int peer_proc(int rank) const noexcept { return peers().proc(rank); }
  [[nodiscard]] std::uint32_t context() const noexcept { return context_; }
  [[nodiscard]] std::uint32_t collective_context() const noexcept { return context_ + 1; }

  // The tag of the next collective operation: members start collectives in the same order (section 6.14), so the
  // same operation gets the same tag everywhere, and operations under way at once do not mix.
  [[nodiscard]] int next_collective_tag() noexcept { return static_cast<int>(collective_sequence_++ & 0x3fffffff); }

  int rank_ = 0;
  std::uint32_t context_ = 0;
  std::uint32_t collective_sequence_ = 0;
  Ref<Group> local_;
  Ref<Group> remote_;
  Ref<Errhandler> errhandler_;
  std::unique_ptr<Topology> topology_;   // null, Cartesian, graph or distributed graph
  AttributeSet attributes_;
  std::string name_;
  Ref<Info> info_;
};

// The predefined communicators; null before initialisation.
Communicator* world() noexcept;
Communicator* self() noexcept;

}  // namespace hr::comm

// Shared parts of the constructors of communicators. Internal to comm/.
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "comm/context.hpp"

namespace hr::comm {

// Processes that take part in a collective creation from `comm`, in an order on which all of them agree: the local
// group, or both groups of an intercommunicator, starting with the one whose first process is smaller. A view of the
// communicator's groups, which must outlive it.
class Participants {
 public:
  explicit Participants(const Communicator& comm);
  Participants(const Participants&) = delete;
  Participants& operator=(const Participants&) = delete;
  // Returns the members and the tag of the next creation from `comm`, and counts that creation.
  [[nodiscard]] Members next_creation(Communicator& comm) const;
  [[nodiscard]] int size() const noexcept { return procs_.size(); }
  [[nodiscard]] int me() const noexcept { return me_; }
  [[nodiscard]] int proc(int index) const noexcept { return procs_[index]; }
  // True if a participant is in this process's own group.
  [[nodiscard]] bool on_own_side(int index) const noexcept { return (index < first_size_) == own_is_first_; }

 private:
  std::vector<int> both_;  // groups of an intercommunicator
  ProcList procs_;         // view of both_, or of the local group
  int me_ = 0;
  int first_size_ = 0;
  bool own_is_first_ = true;
};

// Creates a communicator without a context. `remote` may be empty.
Ref<Communicator> assemble(Ref<Group> local, Ref<Group> remote, const Ref<Errhandler>& errhandler);

// Agrees on the context of `result`, and on the assertions of its members, and stores both. The hints of `result` must
// already be set. A process with an empty `result` takes part, but receives no context.
Status agree(const Members& members, const Ref<Communicator>& result);

// MPI_Comm_split into communicators with hints.
Status split_with(Communicator& comm, int color, int key, const Info* hints, Ref<Communicator>* result);

// Errors: MPI_ERR_ARG if the string is longer than MPI_MAX_STRINGTAG_LEN - 1.
Status check_stringtag(const char* stringtag);
// Returns the members for an agreement among a group without a parent communicator; the group and a tag string
// distinguish such agreements.
Members bootstrap_members(const Group& group, const char* stringtag);

// Errors: MPI_ERR_COMM for an intercommunicator.
Status check_intra(const Communicator& comm);
Status check_no_room(const Ref<Communicator>& made);

}  // namespace hr::comm

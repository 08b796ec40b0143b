// MPI_Comm_dup, MPI_Comm_dup_with_info and their non-blocking forms.
#include "comm/create.hpp"
#include "comm/create/assemble.hpp"
#include "comm/failure.hpp"

namespace hr::comm {

namespace {

Ref<Communicator> copy_of(const Communicator& comm, const Info* hints) {
  Ref<Communicator> made = assemble(comm.local_, comm.remote_, comm.errhandler_);
  if (!made) return made;
  if (comm.topology_) made->topology_ = comm.topology_->clone();
  set_info(*made, hints);
  return made;
}

// State of a pending MPI_Comm_idup until its agreement has ended.
class PendingDup final : public p2p::TaskResources {
 public:
  PendingDup(Communicator& comm, Ref<Communicator> made)
      : parent(Ref<Communicator>::share(&comm)), made(std::move(made)), participants(comm) {}
  [[nodiscard]] const char* what() const noexcept override { return "communicator duplication"; }

  Ref<Communicator> parent;
  Ref<Communicator> made;
  Participants participants;
};

p2p::Task finish_dup(Agreement agreement, Communicator* made) {
  p2p::Task inner = agree_on_context(agreement, &made->context_, &made->asserted_);
  HR_CO_TRY(co_await inner);
  apply_early_revocation(*made);
  co_return kOk;
}

}  // namespace

Status dup(Communicator& comm, const Info* hints, Ref<Communicator>* result) {
  const Participants participants(comm);
  Ref<Communicator> made = copy_of(comm, hints);
  HR_TRY(check_no_room(made));
  HR_TRY(agree(participants.next_creation(comm), made));
  HR_TRY(comm.attributes_.copy_to(comm.handle(), &made->attributes_, made->handle()));
  *result = std::move(made);
  return kOk;
}

Status idup(Communicator& comm, const Info* hints, Ref<Communicator>* result, p2p::Request** request) {
  Ref<Communicator> made = copy_of(comm, hints);
  HR_TRY(check_no_room(made));
  auto pending = std::make_unique<PendingDup>(comm, made);
  Agreement agreement;
  agreement.members = pending->participants.next_creation(comm);
  agreement.blocking = false;
  agreement.assertions = assertions_of(*made);
  p2p::Task task = finish_dup(agreement, made.get());
  HR_TRY(p2p::run_as_request(std::move(task), std::move(pending), &comm, request));
  const Status copied = comm.attributes_.copy_to(comm.handle(), &made->attributes_, made->handle());
  if (!copied.ok()) {
    // The other members need this process, so the agreement continues without a result here.
    release(std::exchange(*request, nullptr));
    return copied;
  }
  *result = std::move(made);
  return kOk;
}

}  // namespace hr::comm

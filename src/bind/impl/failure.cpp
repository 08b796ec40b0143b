// User-level failure mitigation (include/mpi-ext.h).
#pragma GCC visibility push(default)
#include "mpi-ext.h"
#pragma GCC visibility pop

#include "bind/impl/extension_entry.hpp"
#include "comm/consensus.hpp"
#include "comm/failure.hpp"
#include "comm/shrink.hpp"

namespace hr::bind {
namespace {

// Calls body(comm), with the library lock held, for a communicator that may have been revoked.
template <class Body>
int enter(const Call& call, MPI_Comm handle, const Body& body) {
  return enter_with(call, handle, [](MPI_Comm comm) { return lookup_revoked_too<comm::Communicator>(comm); }, body);
}

Status hand_out(Ref<comm::Group> group, MPI_Group* handle) {
  if (!group) return fail(Errc::kNoMem, "no memory for another group: free those no longer needed");
  *handle = handle_of(group.detach());
  return kOk;
}

}  // namespace
}  // namespace hr::bind

using namespace hr;        // NOLINT
using namespace hr::bind;  // NOLINT

int MPIX_Comm_revoke(MPI_Comm comm) {
  static constexpr Call kCall{"MPIX_Comm_revoke"};
  return enter(kCall, comm, [](comm::Communicator& object) {
    comm::revoke(object);
    return kOk;
  });
}

int MPIX_Comm_is_revoked(MPI_Comm comm, int* flag) {
  static constexpr Call kCall{"MPIX_Comm_is_revoked"};
  return enter(kCall, comm, [flag](comm::Communicator& object) {
    if (flag == nullptr) return null_pointer("flag");
    // Makes progress: a program that only calls this function might never learn of the revocation otherwise.
    if (!comm::is_revoked(object)) p2p::poll();
    *flag = comm::is_revoked(object) ? 1 : 0;
    return kOk;
  });
}

int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm) {
  static constexpr Call kCall{"MPIX_Comm_shrink"};
  return enter(kCall, comm, [newcomm](comm::Communicator& object) {
    if (newcomm == nullptr) return null_pointer("newcomm");
    Ref<comm::Communicator> made;
    HR_TRY(comm::shrink(object, &made));
    *newcomm = handle_of(made.detach());
    return kOk;
  });
}

int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  static constexpr Call kCall{"MPIX_Comm_ishrink"};
  return enter(kCall, comm, [newcomm, request](comm::Communicator& object) {
    if (newcomm == nullptr) return null_pointer("newcomm");
    if (request == nullptr) return null_pointer("request");
    Ref<comm::Communicator> made;
    p2p::Request* started = nullptr;
    HR_TRY(comm::ishrink(object, &made, &started));
    *newcomm = handle_of(made.detach());
    *request = handle_of(started);
    return kOk;
  });
}

int MPIX_Comm_agree(MPI_Comm comm, int* flag) {
  static constexpr Call kCall{"MPIX_Comm_agree"};
  return enter(kCall, comm, [flag](comm::Communicator& object) {
    return flag == nullptr ? null_pointer("flag") : comm::agree_with_survivors(object, flag);
  });
}

int MPIX_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request) {
  static constexpr Call kCall{"MPIX_Comm_iagree"};
  return enter(kCall, comm, [flag, request](comm::Communicator& object) {
    if (flag == nullptr) return null_pointer("flag");
    if (request == nullptr) return null_pointer("request");
    p2p::Request* started = nullptr;
    HR_TRY(comm::iagree_with_survivors(object, flag, &started));
    *request = handle_of(started);
    return kOk;
  });
}

int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group* failed) {
  static constexpr Call kCall{"MPIX_Comm_get_failed"};
  return enter(kCall, comm, [failed](comm::Communicator& object) {
    if (failed == nullptr) return null_pointer("failed");
    p2p::poll();
    return hand_out(comm::failed_members(object), failed);
  });
}

int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int* num_acked) {
  static constexpr Call kCall{"MPIX_Comm_ack_failed"};
  return enter(kCall, comm, [num_to_ack, num_acked](comm::Communicator& object) {
    if (num_acked == nullptr) return null_pointer("num_acked");
    p2p::poll();  // so that a program that only calls this function learns of failures
    *num_acked = comm::acknowledge(object, num_to_ack);
    return kOk;
  });
}

int MPIX_Comm_failure_ack(MPI_Comm comm) {
  static constexpr Call kCall{"MPIX_Comm_failure_ack"};
  return enter(kCall, comm, [](comm::Communicator& object) {
    static_cast<void>(comm::acknowledge(object, INT_MAX));
    return kOk;
  });
}

int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failed) {
  static constexpr Call kCall{"MPIX_Comm_failure_get_acked"};
  return enter(kCall, comm, [failed](comm::Communicator& object) {
    if (failed == nullptr) return null_pointer("failed");
    return hand_out(comm::acknowledged_members(object), failed);
  });
}

// Session: one of the program's independent uses of MPI (MPI 5.0 section 11.3).
//
// Owner: reference counted, from MPI_Session_init to MPI_Session_finalize. Threads: library lock.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/object.hpp"
#include "comm/errhandler.hpp"
#include "comm/group.hpp"
#include "comm/info.hpp"

namespace hr::p2p {
class BufferPool;
}

namespace hr::comm {

class Session final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kSession;
  Session(Ref<Errhandler> errhandler, std::string thread_level);

  Ref<Errhandler> errhandler_;
  std::shared_ptr<p2p::BufferPool> buffer_;  // MPI_Session_attach_buffer; also held by the session's groups
  std::string thread_level_;                 // name reported by MPI_Session_get_info, such as "MPI_THREAD_MULTIPLE"
};

// Returns the number of process sets: mpi://WORLD and mpi://SELF, in this order.
int number_of_psets() noexcept;
// True if this is the name of set number n, regardless of case.
bool is_pset_name(int n, std::string_view name) noexcept;
// Finds the name of set number n. Errors: MPI_ERR_ARG if there is no such set.
Status pset_name(int n, std::string_view* name);
// Creates a group of the session from a process set. Errors: MPI_ERR_ARG if there is no such set.
Status pset_group(const Session& session, std::string_view name, Ref<Group>* group);
// Returns the info of a process set, with the key "mpi_size".
Status pset_info(std::string_view name, Ref<Info>* info);
// Returns the info of a session, with its thread level.
Ref<Info> session_info(const Session& session);

}  // namespace hr::comm

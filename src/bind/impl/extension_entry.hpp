// Entry of the functions that are not in the standard (include/mpi-ext.h), whose entry points and bodies are not
// separate.
#pragma once

#include "bind/checked_calls.hpp"
#include "bind/entry.hpp"

namespace hr::bind {

// Executes a call, and checks it if calls are checked. arguments(check): calls check() with the list of Arguments.
template <class Arguments, class Body>
int look_first(const Call& call, const void* caller, const Arguments& arguments, const Body& body) {
  if (!checking) [[likely]]
    return body();
  return arguments([&](std::initializer_list<Argument> all) {
    return check_call(call, Needs::kInitialized, caller, all, [&] {
      static_cast<void>(consume_pass());
      return body();
    });
  });
}

// Ends the program if the library is not in use.
inline void check_ready(const Call& call) {
  if (!ready) [[unlikely]]
    if (!runtime::in_use()) not_ready(call.function);
}

// Calls body(comm), with the library lock held, for the communicator that find(handle) returns. The communicator stays
// alive until the end of the call.
template <class Find, class Body>
int enter_with(const Call& call, MPI_Comm handle, const Find& find, const Body& body) {
  check_ready(call);
  const LibraryGuard guard;
  comm::Communicator* const comm = find(handle);
  if (comm == nullptr) return report_handle(call, nullptr, "comm", handle, ObjectKind::kCommunicator);
  const Ref<comm::Communicator> alive = Ref<comm::Communicator>::share(comm);
  const Status status = body(*comm);
  return status.ok() ? MPI_SUCCESS : raise(call, comm, status);
}

inline Status null_pointer(const char* parameter) { return fail(Errc::kArg, "%s is a null pointer", parameter); }

}  // namespace hr::bind

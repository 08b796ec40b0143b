// Raises errors: the only place where a Status becomes an MPI error (MPI 5.0 section 9.3).
//
// All functions here are cold and out of line; an entry point calls one of them and returns its result, which is the
// error code for the program, provided that the error handler returns. Threads: library lock.
#pragma once

#include <cstdint>
#include <string>

#include "base/object.hpp"
#include "base/status.hpp"
#include "comm/communicator.hpp"

namespace hr::bind {

// Object whose error handler is used if no communicator or session is among the arguments.
enum class Fallback { kSelf, kFile };

// Describes an MPI function. Each entry point has one as a constant.
struct Call {
  const char* function;  // "MPI_Send"
  Fallback fallback = Fallback::kSelf;
  std::uint16_t number = 0;  // the function's number; 0 unless a channel may execute the call
  std::uint16_t place = 0;   // the function's index in counter parts (base/counter_parts.hpp); 0 likewise
};

// Raises `status` with its recorded detail. `where`: a Communicator, a Session, a Window, a File, or nullptr.
[[gnu::cold, gnu::noinline]] int raise(const Call& call, Object* where, Status status);

// Called by bodies that determine the communicator or file themselves (waits on requests): the error that such a body
// is about to return is raised on that object.
void blame(Object* where) noexcept;
// Notes that a request of MPI_Waitall or the like has failed, with `code` in its status; blame() has been called for
// it. The call then fails with MPI_ERR_IN_STATUS. The error handler does not see the statuses, and MPI_ERR_IN_STATUS
// does not describe the cause; so the handler gets the first such code and the object of the first such request.
void blame_element(int index, int code);
// Called if the creation of a communicator without a parent fails: the error is raised with the handler that the
// communicator would have had. Also called, with MPI_ERRORS_RETURN, if the call returns an error that it has raised.
void blame_handler(comm::Errhandler& handler) noexcept;
// Called when a session begins. From the first session on, errors that belong to no object are raised on MPI_COMM_SELF,
// as the standard requires. Before that, if MPI_COMM_SELF still has its initial handler, they are raised on
// MPI_COMM_WORLD, as programs written for MPI 3 set only that handler.
void a_session_begins() noexcept;

// Returns the code that MPI_Waitall and its variants store in a status' MPI_ERROR, with class, slot and text, without
// raising it. Uses the recorded detail, or `detail` if it is not empty.
[[gnu::cold, gnu::noinline]] int record(Status status, std::string detail = {});

// Calls the object's error handler with a code chosen by the program (MPI_Comm_call_errhandler,
// MPI_Session_call_errhandler).
int call_errhandler(Object& where, int code);

// Returns the handler that the entry points of chapter 14 use: the handler of MPI_FILE_NULL, which is MPI_ERRORS_RETURN
// unless the program sets another.
Ref<comm::Errhandler>& file_errhandler();

// --- reports of failed checks in entry points ---
int report_handle(const Call& call, Object* where, const char* parameter, const void* handle, ObjectKind kind);
int report_type(const Call& call, Object* where, const char* parameter, const void* handle);
int report_type_element(const Call& call, Object* where, const char* parameter, int index, const void* handle);
int report_null(const Call& call, Object* where, const char* parameter);
int report_negative(const Call& call, Object* where, const char* parameter, long long value, Errc error_class);
int report_rank(const Call& call, Object* where, const char* parameter, int value, Errc error_class);
int report_tag(const Call& call, Object* where, const char* parameter, int value, Errc error_class);
int report_in_place(const Call& call, Object* where, const char* parameter);
int report_too_large(const Call& call, Object* where, const char* parameter, long long value);

}  // namespace hr::bind

// Error handlers (MPI 5.0 section 9.3).
#include "comm/errhandler.hpp"

#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "bind/raise.hpp"
#include "comm/communicator.hpp"
#include "comm/session.hpp"

namespace hr::bind::impl {

namespace {

using comm::Errhandler;
using comm::ErrhandlerTarget;

template <class Handle>
Status create(ErrhandlerTarget target, void (*function)(Handle*, int*, ...), Ref<Errhandler>& errhandler) {
  if (function == nullptr) return fail(Errc::kArg, "the error handler function is null");
  errhandler = comm::create_errhandler(target, [function](void** object, int* code) {
    auto handle = static_cast<Handle>(*object);
    function(&handle, code);
    *object = handle;
  });
  return errhandler ? kOk : fail(Errc::kNoMem, "no memory for another error handler: free those no longer needed");
}

Status set(Ref<Errhandler>& slot, ErrhandlerTarget target, Errhandler& errhandler) {
  HR_TRY(check_errhandler(errhandler, target));
  slot = Ref<Errhandler>::share(&errhandler);
  return kOk;
}

// MPI_FILE_NULL stands for the default handler of files (section 14.7).
Ref<Errhandler>& handler_of(io::File* file) { return file == nullptr ? file_errhandler() : file->errhandler_; }

}  // namespace

Status comm_create_errhandler(MPI_Comm_errhandler_function* comm_errhandler_fn, Ref<Errhandler>& errhandler) {
  return create(ErrhandlerTarget::kCommunicator, comm_errhandler_fn, errhandler);
}

Status comm_set_errhandler(comm::Communicator& comm, Errhandler& errhandler) {
  return set(comm.errhandler_, ErrhandlerTarget::kCommunicator, errhandler);
}

Status comm_get_errhandler(comm::Communicator& comm, Ref<Errhandler>& errhandler) {
  errhandler = comm.errhandler_;
  return kOk;
}

Status comm_call_errhandler(comm::Communicator& comm, int errorcode) {
  static_cast<void>(call_errhandler(comm, errorcode));
  return kOk;
}

Status session_create_errhandler(MPI_Session_errhandler_function* session_errhandler_fn, Ref<Errhandler>& errhandler) {
  return create(ErrhandlerTarget::kSession, session_errhandler_fn, errhandler);
}

Status session_set_errhandler(comm::Session& session, Errhandler& errhandler) {
  return set(session.errhandler_, ErrhandlerTarget::kSession, errhandler);
}

Status session_get_errhandler(comm::Session& session, Ref<Errhandler>& errhandler) {
  errhandler = session.errhandler_;
  return kOk;
}

Status session_call_errhandler(comm::Session& session, int errorcode) {
  static_cast<void>(call_errhandler(session, errorcode));
  return kOk;
}

Status file_create_errhandler(MPI_File_errhandler_function* file_errhandler_fn, Ref<Errhandler>& errhandler) {
  return create(ErrhandlerTarget::kFile, file_errhandler_fn, errhandler);
}

Status file_set_errhandler(io::File* file, Errhandler& errhandler) {
  return set(handler_of(file), ErrhandlerTarget::kFile, errhandler);
}

Status file_get_errhandler(io::File* file, Ref<Errhandler>& errhandler) {
  errhandler = handler_of(file);
  return kOk;
}

Status file_call_errhandler(io::File* fh, int errorcode) {
  if (fh != nullptr) {
    static_cast<void>(call_errhandler(*fh, errorcode));
  } else {
    static_cast<void>(comm::invoke(*file_errhandler(), MPI_FILE_NULL, errorcode, "MPI_File_call_errhandler"));
  }
  return kOk;
}

Status win_create_errhandler(MPI_Win_errhandler_function* win_errhandler_fn, Ref<Errhandler>& errhandler) {
  return create(ErrhandlerTarget::kWindow, win_errhandler_fn, errhandler);
}

Status win_set_errhandler(rma::Window& win, Errhandler& errhandler) {
  return set(win.errhandler_, ErrhandlerTarget::kWindow, errhandler);
}

Status win_get_errhandler(rma::Window& win, Ref<Errhandler>& errhandler) {
  errhandler = win.errhandler_;
  return kOk;
}

Status win_call_errhandler(rma::Window& win, int errorcode) {
  static_cast<void>(call_errhandler(win, errorcode));
  return kOk;
}

Status errhandler_free(Errhandler& errhandler) {
  // MPI_Comm_get_errhandler also returns the predefined handlers, and the program may free whatever it returns.
  if (!errhandler.is_predefined()) release(&errhandler);
  return kOk;
}

}  // namespace hr::bind::impl

// User-level failure mitigation under MPICH's names (include/mpi-ext.h says what the functions do).
#include <dlfcn.h>

#include "mpi.h"
#include "mpich/arguments.hpp"
#include "mpich/conversions.hpp"
#include "mpich/entry.hpp"

namespace {

using namespace hr::mpich;  // NOLINT

// libmpi_abi.so.1's function of that name, which has been loaded before this library.
template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  void* const library = dlopen("libmpi_abi.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

}  // namespace

extern "C" {

HR_EXPORT int MPIX_Comm_revoke(int comm) { return ErrorCode::out(call("MPIX_Comm_revoke", in<Kind::kComm>(comm))); }

HR_EXPORT int MPIX_Comm_is_revoked(int comm, int* flag) {
  return ErrorCode::out(call("MPIX_Comm_is_revoked", in<Kind::kComm>(comm), flag));
}

HR_EXPORT int MPIX_Comm_shrink(int comm, int* newcomm) {
  HandleOut<Kind::kComm> made(newcomm);
  const int code = call("MPIX_Comm_shrink", in<Kind::kComm>(comm), made.argument());
  made.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_ishrink(int comm, int* newcomm, int* request) {
  HandleOut<Kind::kComm> made(newcomm);
  HandleOut<Kind::kRequest> started(request);
  const int code = call("MPIX_Comm_ishrink", in<Kind::kComm>(comm), made.argument(), started.argument());
  made.finish();
  started.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_agree(int comm, int* flag) {
  return ErrorCode::out(call("MPIX_Comm_agree", in<Kind::kComm>(comm), flag));
}

HR_EXPORT int MPIX_Comm_iagree(int comm, int* flag, int* request) {
  HandleOut<Kind::kRequest> started(request);
  const int code = call("MPIX_Comm_iagree", in<Kind::kComm>(comm), flag, started.argument());
  started.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_get_failed(int comm, int* failed) {
  HandleOut<Kind::kGroup> group(failed);
  const int code = call("MPIX_Comm_get_failed", in<Kind::kComm>(comm), group.argument());
  group.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_ack_failed(int comm, int num_to_ack, int* num_acked) {
  return ErrorCode::out(call("MPIX_Comm_ack_failed", in<Kind::kComm>(comm), num_to_ack, num_acked));
}

HR_EXPORT int MPIX_Comm_failure_ack(int comm) {
  return ErrorCode::out(call("MPIX_Comm_failure_ack", in<Kind::kComm>(comm)));
}

HR_EXPORT int MPIX_Comm_failure_get_acked(int comm, int* failed) {
  HandleOut<Kind::kGroup> group(failed);
  const int code = call("MPIX_Comm_failure_get_acked", in<Kind::kComm>(comm), group.argument());
  group.finish();
  return ErrorCode::out(code);
}
}

// User-level failure mitigation under MPICH's names (documented in include/mpi-ext.h).
#include "mpich/arguments.hpp"
#include "mpich/beyond.hpp"
#include "mpich/conversions.hpp"
#include "mpich/entry.hpp"

using namespace hr::mpich;  // NOLINT

extern "C" {

HR_EXPORT int MPIX_Comm_revoke(int comm) {
  return ErrorCode::out(call_beyond("MPIX_Comm_revoke", in<Kind::kComm>(comm)));
}

HR_EXPORT int MPIX_Comm_is_revoked(int comm, int* flag) {
  return ErrorCode::out(call_beyond("MPIX_Comm_is_revoked", in<Kind::kComm>(comm), flag));
}

HR_EXPORT int MPIX_Comm_shrink(int comm, int* newcomm) {
  HandleOut<Kind::kComm> made(newcomm);
  const int code = call_beyond("MPIX_Comm_shrink", in<Kind::kComm>(comm), made.argument());
  made.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_ishrink(int comm, int* newcomm, int* request) {
  HandleOut<Kind::kComm> made(newcomm);
  HandleOut<Kind::kRequest> started(request);
  const int code = call_beyond("MPIX_Comm_ishrink", in<Kind::kComm>(comm), made.argument(), started.argument());
  made.finish();
  started.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_agree(int comm, int* flag) {
  return ErrorCode::out(call_beyond("MPIX_Comm_agree", in<Kind::kComm>(comm), flag));
}

HR_EXPORT int MPIX_Comm_iagree(int comm, int* flag, int* request) {
  HandleOut<Kind::kRequest> started(request);
  const int code = call_beyond("MPIX_Comm_iagree", in<Kind::kComm>(comm), flag, started.argument());
  started.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_get_failed(int comm, int* failed) {
  HandleOut<Kind::kGroup> group(failed);
  const int code = call_beyond("MPIX_Comm_get_failed", in<Kind::kComm>(comm), group.argument());
  group.finish();
  return ErrorCode::out(code);
}

HR_EXPORT int MPIX_Comm_ack_failed(int comm, int num_to_ack, int* num_acked) {
  return ErrorCode::out(call_beyond("MPIX_Comm_ack_failed", in<Kind::kComm>(comm), num_to_ack, num_acked));
}

HR_EXPORT int MPIX_Comm_failure_ack(int comm) {
  return ErrorCode::out(call_beyond("MPIX_Comm_failure_ack", in<Kind::kComm>(comm)));
}

HR_EXPORT int MPIX_Comm_failure_get_acked(int comm, int* failed) {
  HandleOut<Kind::kGroup> group(failed);
  const int code = call_beyond("MPIX_Comm_failure_get_acked", in<Kind::kComm>(comm), group.argument());
  group.finish();
  return ErrorCode::out(code);
}
}

// Partitions that kernels mark ready, under MPICH's names (documented in include/mpi-ext.h).
#include "mpich/beyond.hpp"
#include "mpich/conversions.hpp"
#include "mpich/entry.hpp"
#include "mpix-device.h"

using namespace hr::mpich;  // NOLINT

extern "C" {

HR_EXPORT int MPIX_Prequest_create(int request, MPIX_Prequest* prequest) {
  return ErrorCode::out(call_beyond("MPIX_Prequest_create", in<Kind::kRequest>(request), prequest));
}

HR_EXPORT int MPIX_Prequest_free(MPIX_Prequest* prequest) {
  return ErrorCode::out(call_beyond("MPIX_Prequest_free", prequest));
}
}
